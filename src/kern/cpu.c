/* CPU level by feature bits: the levels are those of the compilers' x86-64-v3 and x86-64-v4, and the operating system
 * must keep the vector registers (which __builtin_cpu_supports asks for). */
#include <stdlib.h>

#include "kern/kern.h"

#if defined(__x86_64__)
#include <cpuid.h>

static bool cpu_has_scalar_v3(void) { /* what the compiler may use besides AVX2 and FMA */
  enum { CPU_MOVBE = 1 << 22, CPU_F16C = 1 << 29, CPU_LZCNT = 1 << 5 };
  unsigned int a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & CPU_MOVBE) || !(c & CPU_F16C)) return false;
  return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c & CPU_LZCNT);
}

static int cpu_detect(void) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !cpu_has_scalar_v3())
    return 1;
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? 4 : 3;
}
#else
static int cpu_detect(void) { return 1; }
#endif

int tn_cpu_level(void) {
  static int cached;
  int level = __atomic_load_n(&cached, __ATOMIC_RELAXED);
  if (level) return level;
  level = cpu_detect();
  const char *limit = getenv("TENON_CPU");
  if (limit && (limit[0] == '1' || limit[0] == '3' || limit[0] == '4') && !limit[1] && limit[0] - '0' < level)
    level = limit[0] - '0';
  __atomic_store_n(&cached, level, __ATOMIC_RELAXED);
  return level;
}
