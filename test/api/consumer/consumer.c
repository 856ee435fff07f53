/* The smallest program that uses an installed Tenon. */
#include <tenon/dtype.h>
#include <tenon/status.h>

int main(void) { return TN_OK == 0 && TN_F32 == 1 ? 0 : 1; }
