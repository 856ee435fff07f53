/* Whether threads that have nothing to do sleep. */
#ifndef TN_TEST_REST_H
#define TN_TEST_REST_H

#include <stdbool.h>
#include <time.h>

/* Does the process use less than a hundredth of a pause? Threads look for work a little longer before they sleep, on a
 * busy machine much longer, so one of twenty pauses will do. */
static bool test_rests(void) {
  const struct timespec pause = {0, 300000000};
  bool rested = false;
  for (int i = 0; i < 20 && !rested; i++) {
    const clock_t before = clock();
    nanosleep(&pause, NULL);
    rested = clock() - before < CLOCKS_PER_SEC * 3 / 1000;
  }
  return rested;
}

#endif
