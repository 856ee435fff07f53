/* Shapes and activations of recurrent layers. */
#ifndef TN_KERN_RNN_H
#define TN_KERN_RNN_H

#include "kern/kern.h"

typedef enum rnn_cell { RNN_LSTM, RNN_GRU, RNN_PLAIN } rnn_cell;

typedef enum rnn_act_kind {
  RNN_RELU,
  RNN_TANH,
  RNN_SIGMOID,
  RNN_AFFINE,
  RNN_LEAKY_RELU,
  RNN_THRESHOLDED_RELU,
  RNN_SCALED_TANH,
  RNN_HARD_SIGMOID,
  RNN_ELU,
  RNN_SOFTSIGN,
  RNN_SOFTPLUS,
  RNN_N_ACTS
} rnn_act_kind;

typedef struct rnn_act {
  rnn_act_kind kind;
  double alpha, beta;
} rnn_act;

typedef struct rnn_shape {
  rnn_cell cell;
  int gates, directions;
  bool batch_first, is_reverse, input_forget, linear_before_reset;
  int64_t steps, batch, input, hidden;
  double clip;         /* 0: none */
  const int32_t *lens; /* NULL: every sequence has all steps */
  rnn_act acts[2][3];
} rnn_shape;

#endif
