#include "base/knob.h"

#include <stdlib.h>

#include "test.h"

TEST(defaults) {
  tn_knobs k;
  tn_error err = {0};
  CHECK(unsetenv("TENON_THREADS") == 0);
  CHECK_EQ_I(tn_knobs_init(&k, &err), TN_OK);
  CHECK_EQ_I(k.num[TN_KNOB_threads], 0);
  CHECK_STR(k.source[TN_KNOB_threads], "default");
  for (int i = 0; i < TN_N_KNOBS; i++) CHECK(tn_knob_rows[i].doc[0] && tn_knob_rows[i].name[0]);
}

TEST(environment_then_option) {
  tn_knobs k;
  tn_error err = {0};
  CHECK(setenv("TENON_THREADS", "3", 1) == 0);
  CHECK_EQ_I(tn_knobs_init(&k, &err), TN_OK);
  CHECK_EQ_I(k.num[TN_KNOB_threads], 3);
  CHECK_STR(k.source[TN_KNOB_threads], "environment");
  CHECK_EQ_I(tn_knobs_set(&k, "threads", "9223372036854775807", "option", &err), TN_OK);
  CHECK_EQ_I(k.num[TN_KNOB_threads], INT64_MAX);
  CHECK_STR(k.source[TN_KNOB_threads], "option");
  CHECK(unsetenv("TENON_THREADS") == 0);
}

TEST(refusals) {
  static const char *const bad[] = {"", "-", "1x", " 1", "9223372036854775808", "1.0"};
  tn_knobs k;
  tn_error err = {0};
  CHECK_EQ_I(tn_knobs_init(&k, &err), TN_OK);
  for (size_t i = 0; i < TN_COUNT(bad); i++) {
    memset(&err, 0, sizeof err);
    CHECK_EQ_I(tn_knobs_set(&k, "threads", bad[i], "option", &err), TN_INVALID);
    CHECK_HAS(err.text, "is not an integer");
  }
  memset(&err, 0, sizeof err);
  CHECK_EQ_I(tn_knobs_set(&k, "threads", "-9223372036854775808", "option", &err), TN_INVALID);
  CHECK_HAS(err.text, "-9223372036854775808 is negative");
  memset(&err, 0, sizeof err);
  CHECK_EQ_I(tn_knobs_set(&k, "nope", "1", "option", &err), TN_INVALID);
  CHECK_STR(err.text, "unknown knob 'nope'");
}
