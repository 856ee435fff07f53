/* State: outputs that are inputs of the next run. */
#include <string.h>

#include "rt/session.h"

static bool link_is_plain(const tn_pvalue *x) { return x->kind == 0 && x->dtype != TN_STR; }

tn_status tn_rt_link(tn_rt_session *s, uint32_t output, uint32_t input, tn_error *err) {
  if (input >= s->p->n_inputs)
    return tn_error_set(err, TN_INVALID, "there is no input %u: the model has %u", input, s->p->n_inputs);
  if (output == UINT32_MAX) {
    s->links[input].output = 0;
    s->links[input].is_kept = false;
    return TN_OK;
  }
  if (output >= s->p->n_outputs)
    return tn_error_set(err, TN_INVALID, "there is no output %u: the model has %u", output, s->p->n_outputs);
  const tn_pio *from = &s->p->outputs[output], *to = &s->p->inputs[input];
  const tn_pvalue *x = &s->p->values[from->value], *y = &s->p->values[to->value];
  if (!link_is_plain(x) || !link_is_plain(y) || x->dtype != y->dtype)
    return tn_error_set(err, TN_MISMATCH, "output '%s' (%s) cannot be input '%s' (%s) of the next run", from->name,
                        from->type_text, to->name, to->type_text);
  s->links[input].output = 1 + output;
  return TN_OK;
}

/* Two places by turns: a result may be a view of the input it came from. */
tn_status tn_rt_keep_links(tn_rt_session *s, tn_error *err) {
  for (uint32_t i = 0; i < s->p->n_inputs; i++) {
    tn_rt_link_state *l = &s->links[i];
    if (!l->output) continue;
    tn_rt_item *next = &l->item[l->turn ^ 1];
    TN_TRY(tn_rt_assign(s, &next->arg, &next->block, tn_rt_output(s, l->output - 1), err));
  }
  for (uint32_t i = 0; i < s->p->n_inputs; i++) { /* all of them or none */
    tn_rt_link_state *l = &s->links[i];
    if (!l->output) continue;
    l->turn ^= 1;
    l->is_kept = true;
  }
  return TN_OK;
}

tn_status tn_rt_give_links(tn_rt_session *s, tn_error *err) {
  for (uint32_t i = 0; i < s->p->n_inputs; i++)
    if (s->links[i].is_kept) TN_TRY(tn_rt_set_input(s, i, &s->links[i].item[s->links[i].turn].arg, err));
  return TN_OK;
}

void tn_rt_links_drop(tn_rt_session *s) {
  for (uint32_t i = 0; s->links && i < s->p->n_inputs; i++)
    for (int k = 0; k < 2; k++) tn_rt_drop(s, &s->links[i].item[k].block);
}
