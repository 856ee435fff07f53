#include "driver/pipeline.h"
#include "test.h"

TEST(the_order_holds) {
  tn_error err = {0};
  CHECK_EQ_I(tn_pipeline_check(tn_pipeline, TN_HAS_GRAPH, &err), TN_OK);
  CHECK_STR(err.text, "");
}

TEST(it_ends_with_a_program) {
  uint32_t have = TN_HAS_GRAPH;
  for (const tn_pipeline_row *row = tn_pipeline; row->name; row++) have = (have & ~row->breaks) | row->gives;
  CHECK(have & TN_HAS_PROGRAM);
}

TEST(a_pass_before_its_needs_is_named) {
  const tn_pipeline_row rows[] = {*tn_pipeline_find(tn_str_of("infer")), {0}};
  tn_error err = {0};
  CHECK_EQ_I(tn_pipeline_check(rows, TN_HAS_GRAPH, &err), TN_INTERNAL);
  CHECK_HAS(err.text, "pass infer needs");
}

TEST(a_broken_invariant_must_be_given_again) {
  const tn_pipeline_row rows[] = {*tn_pipeline_find(tn_str_of("place")),
                                  *tn_pipeline_find(tn_str_of("fold")),
                                  *tn_pipeline_find(tn_str_of("schedule")),
                                  {0}};
  tn_error err = {0};
  CHECK_EQ_I(tn_pipeline_check(rows, TN_HAS_NODES | TN_HAS_GRAPH | TN_HAS_SYMBOLS | TN_HAS_FACTS | TN_HAS_LIVE, &err),
             TN_INTERNAL);
  CHECK_HAS(err.text, "pass schedule needs");
}

TEST(names_are_unique) {
  for (const tn_pipeline_row *row = tn_pipeline; row->name; row++) CHECK(tn_pipeline_find(tn_str_of(row->name)) == row);
  CHECK(tn_pipeline_find(tn_str_of("nothing")) == NULL);
}
