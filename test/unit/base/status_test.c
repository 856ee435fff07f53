#include "base/status.h"

#include "test.h"

TEST(rows) {
  CHECK_STR(tn_status_name(TN_INVALID), "INVALID");
  CHECK_EQ_I(tn_status_exit(TN_OK), 0);
  CHECK_EQ_I(tn_status_exit(TN_UNSUPPORTED), 4);
  CHECK_EQ_I(tn_status_exit(TN_INTERNAL), 70);
  CHECK_STR(tn_status_text(TN_OOM), "out of memory");
  CHECK_STR(tn_status_name((tn_status)12345), "INTERNAL");
}

TEST(first_error_stays) {
  tn_error e = {0};
  CHECK_EQ_I(tn_error_set(&e, TN_IO, "cannot open '%s'", "a"), TN_IO);
  CHECK_EQ_I(tn_error_set(&e, TN_OOM, "later"), TN_OOM);
  CHECK_EQ_I(e.status, TN_IO);
  CHECK_STR(e.text, "cannot open 'a'");
  CHECK_EQ_I(tn_error_set(NULL, TN_IO, "nobody listens"), TN_IO);
}

TEST(long_text_is_cut) {
  static char text[5000];
  memset(text, 'x', sizeof text - 1);
  tn_error e = {0};
  CHECK_EQ_I(tn_error_set(&e, TN_LIMIT, "%s", text), TN_LIMIT);
  CHECK_EQ_I(strlen(e.text), sizeof e.text - 1);
}
