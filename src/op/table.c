/* The tables of operators and ONNX names, from the lists the build scans out of this folder. */
#include "ir/op.h"

#define TN_OP_ROW(id) extern const tn_op tn_op_##id;
#include "op_list.inc"
#undef TN_OP_ROW
#define TN_ONNX_ROW(tag, name, since) extern const tn_onnx_row tn_onnx_##tag##_##name##_##since;
#include "onnx_list.inc"
#undef TN_ONNX_ROW

const tn_op *const tn_op_rows[] = {
#define TN_OP_ROW(id) &tn_op_##id,
#include "op_list.inc"
#undef TN_OP_ROW
};
const int tn_op_rows_n = (int)TN_COUNT(tn_op_rows);

const tn_onnx_row *const tn_onnx_rows[] = {
#define TN_ONNX_ROW(tag, name, since) &tn_onnx_##tag##_##name##_##since,
#include "onnx_list.inc"
#undef TN_ONNX_ROW
};
const int tn_onnx_rows_n = (int)TN_COUNT(tn_onnx_rows);
