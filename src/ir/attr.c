/* Attribute kinds as messages name them. */
#include "ir/attr.h"

const char *tn_attr_kind_name(tn_attr_kind k) {
  switch (k) {
    case TN_ATTR_NONE:
      return "nothing";
    case TN_ATTR_INT:
      return "an int";
    case TN_ATTR_FLOAT:
      return "a float";
    case TN_ATTR_STR:
      return "a string";
    case TN_ATTR_DTYPE:
      return "an element type";
    case TN_ATTR_TENSOR:
      return "a tensor";
    case TN_ATTR_INTS:
      return "a list of ints";
    case TN_ATTR_FLOATS:
      return "a list of floats";
    case TN_ATTR_STRS:
      return "a list of strings";
    case TN_ATTR_TENSORS:
      return "a list of tensors";
    case TN_ATTR_TYPE:
      return "a type";
    case TN_ATTR_REGION:
      return "a graph";
    case TN_ATTR_SPARSE:
      return "a sparse tensor";
  }
  return "an unknown kind";
}
