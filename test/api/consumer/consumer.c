/* A small user of an installed Tenon: prints its version, and gets a status and a sentence for a model that is not
 * there. */
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

int main(void) {
  char version[32];
  snprintf(version, sizeof(version), "%d.%d.%d", TN_VERSION_MAJOR, TN_VERSION_MINOR, TN_VERSION_PATCH);
  if (strcmp(version, tn_version()) != 0) return 1;

  tn_program *program = NULL;
  tn_report *report = NULL;
  const tn_status status = tn_compile_file("no-such-model.onnx", NULL, &program, &report);
  if (status != TN_IO || program != NULL || tn_report_count(report) == 0) return 2;
  printf("tenon %s: %s\n", tn_version(), tn_report_text(report));
  tn_report_release(report);
  return 0;
}
