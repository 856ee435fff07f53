/* What each kernel may rely on: number, kinds, element types and ranks of its operands, as the schemas of its operators
 * have them (tools/ports.c writes the table when the library is built). A program from a file is held against it when
 * it is loaded, so no kernel asks again whether an operand that its operator requires is there. */
#ifndef TN_KERN_PORTS_H
#define TN_KERN_PORTS_H

#include "kern/kern.h"

enum { /* flags */
       TN_KPORT_OPTIONAL = 1,
       TN_KPORT_VARIADIC = 2, /* the last port: it serves all operands that follow */
       TN_KPORT_ANY_KIND = 4,
       TN_KPORT_SEQUENCE = 8, /* no tensor */
       TN_KPORT_MIXED = 16    /* members may differ in element type */
};

enum { TN_KPORT_MAX_GROUPS = 16 };

typedef struct tn_kport {
  uint32_t dtypes; /* a set of bits; 0: any */
  uint8_t flags;
  uint8_t group;   /* ports of one number have one element type; 0: alone */
  uint8_t rank;    /* the one rank allowed; 0: any */
  uint8_t rank_as; /* 1 + the input that has the same rank, as far as both are known; 0: none */
} tn_kport;

typedef struct tn_kports {
  const tn_kport *in, *out;
  int n_in, n_out;
} tn_kports;

int tn_kernel_index(const char *name); /* as of tn_kernel_at; -1 when there is none */
tn_kports tn_kernel_ports(const tn_kernel *kernel);

typedef struct tn_koperand { /* what a program says of an operand */
  bool is_present, is_tensor;
  tn_dtype dtype; /* of what is inside; NONE: not known */
  int rank;       /* -1: not known */
} tn_koperand;

typedef tn_koperand (*tn_koperand_fn)(const void *self, int i); /* inputs, then outputs */

/* INVALID when the operands of a step are not what the kernel relies on. */
TN_MUST_CHECK tn_status tn_kernel_check(const tn_kernel *kernel, tn_koperand_fn operand, const void *self, int n_in,
                                        int n_out, tn_error *err);

#endif
