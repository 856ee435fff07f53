/* The same with the library that holds no compiler. */
#include <stdio.h>
#include <tenon/tenon.h>

int main(void) {
  tn_program *program = NULL;
  tn_report *report = NULL;
  const tn_status status = tn_program_load_file("no-such-program.tnp", &program, &report);
  if (status != TN_IO || program != NULL || tn_report_count(report) == 0) return 2;
  printf("tenon %s: %s\n", tn_version(), tn_report_text(report));
  tn_report_release(report);
  return 0;
}
