/* Every row of the ONNX table under seeded hostile attributes (fuzz/attr_fuzz.c). TENON_ATTR_ROUNDS: cases per row. */
#include "../../fuzz/attr_fuzz.c"

#include <unistd.h>

#include "test.h"

enum { ATTRS_ROUNDS = 40, ATTRS_SECONDS = 60 };

static const char *attrs_now;
static int attrs_round;

TEST(every_operator_survives_hostile_attributes) {
  const char *const given = getenv("TENON_ATTR_ROUNDS"), *const first = getenv("TENON_ATTR_FROM");
  const int rounds = given ? atoi(given) : ATTRS_ROUNDS, from = first ? atoi(first) : 0;
  const char *const only = getenv("TENON_ATTR_ONLY");
  for (int row = 0; row < tn_onnx_count(); row++) {
    attrs_now = tn_onnx_at(row)->name;
    if (only && strcmp(only, attrs_now) != 0) continue;
    for (attrs_round = from; attrs_round < from + rounds; attrs_round++) {
      const uint8_t data[6] = {
          (uint8_t)(row >> 8), (uint8_t)row, (uint8_t)(attrs_round >> 8), (uint8_t)attrs_round, 7, 7};
      FILE *const trace = getenv("TENON_ATTR_TRACE") ? stderr : NULL;
      if (trace) fprintf(trace, "%s %d\n", attrs_now, attrs_round);
      alarm(ATTRS_SECONDS);
      CHECK(LLVMFuzzerTestOneInput(data, sizeof data) == 0);
      alarm(0);
    }
  }
  CHECK(tn_onnx_count() > 200);
}
