/* Status codes, shared by the public API and the library. */
#ifndef TENON_STATUS_H
#define TENON_STATUS_H

typedef enum tn_status {
#define TN_STATUS(name, number, exit_status, text) TN_##name = number,
#include "tenon/status.def"
#undef TN_STATUS
  TN_N_STATUS
} tn_status;

#endif
