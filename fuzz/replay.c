/* Runs a fuzz target over the files of folders, and over seeded mutations of each, without libFuzzer. The name of an
 * input is printed before it runs, so the last line of a failed run names the culprit. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { REPLAY_MUTANTS = 16, REPLAY_SECONDS = 10, REPLAY_MAX_FILES = 4096, REPLAY_ROOM = 4096 };

static uint64_t replay_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* The target gets an allocation of exactly `size` bytes, so that a sanitizer sees a read past the end. */
static void replay_bytes(const char *name, int mutant, const uint8_t *data, size_t size) {
  printf("%s", name);
  if (mutant > 0) printf(" mutant %d", mutant);
  printf("\n");
  fflush(stdout);
  uint8_t *copy = malloc(size > 0 ? size : 1);
  if (copy == NULL) abort();
  if (size > 0) memcpy(copy, data, size);
  alarm(REPLAY_SECONDS);
  LLVMFuzzerTestOneInput(copy, size);
  alarm(0);
  free(copy);
}

/* Flips, overwrites and cuts a few places; the same for the same mutant number. */
static size_t replay_mutate(uint8_t *data, size_t size, int mutant) {
  uint64_t state = 0x9e3779b97f4a7c15u ^ (uint64_t)mutant;
  for (int i = 0; i < 4 && size > 0; i++) {
    uint64_t const r = replay_random(&state);
    size_t const at = (size_t)(replay_random(&state) % size);
    if (r % 8 == 0)
      size = at;
    else if (r % 8 < 4)
      data[at] = (uint8_t)(data[at] ^ (1u << (r >> 8) % 8));
    else
      data[at] = (uint8_t)(r >> 16);
  }
  return size;
}

/* What libFuzzer gives to targets with a mutator of their own. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
  return replay_mutate(data, size < max_size ? size : max_size, 0);
}

/* Every other mutant is made by the target, where it can. */
static size_t replay_mutant(uint8_t *data, size_t size, size_t max_size, int mutant) {
  if (LLVMFuzzerCustomMutator && mutant % 2) return LLVMFuzzerCustomMutator(data, size, max_size, (unsigned)mutant);
  return replay_mutate(data, size, mutant);
}

static void replay_file(const char *path) {
  FILE *const file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  struct stat info;
  if (fstat(fileno(file), &info) != 0 || info.st_size < 0) abort();
  size_t const size = (size_t)info.st_size;
  uint8_t *const data = malloc(2 * size + REPLAY_ROOM);
  if (data == NULL) abort();
  if (fread(data, 1, size, file) != size) abort();
  fclose(file);
  replay_bytes(path, 0, data, size);
  for (int mutant = 1; mutant <= REPLAY_MUTANTS; mutant++) {
    memcpy(data + size, data, size);
    replay_bytes(path, mutant, data + size, replay_mutant(data + size, size, size + REPLAY_ROOM, mutant));
  }
  free(data);
}

static int replay_order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static size_t replay_folder(const char *folder) {
  DIR *const dir = opendir(folder);
  if (dir == NULL) {
    perror(folder);
    exit(1);
  }
  static char *paths[REPLAY_MAX_FILES];
  size_t n = 0;
  for (const struct dirent *entry = readdir(dir); entry != NULL && n < REPLAY_MAX_FILES; entry = readdir(dir)) {
    if (entry->d_name[0] == '.') continue;
    size_t const room = strlen(folder) + strlen(entry->d_name) + 2;
    paths[n] = malloc(room);
    if (paths[n] == NULL) abort();
    snprintf(paths[n++], room, "%s/%s", folder, entry->d_name);
  }
  closedir(dir);
  qsort(paths, n, sizeof(paths[0]), replay_order);
  for (size_t i = 0; i < n; i++) {
    replay_file(paths[i]);
    free(paths[i]);
  }
  return n;
}

int main(int argc, char **argv) {
  size_t n = 0;
  for (int i = 1; i < argc; i++) {
    struct stat info;
    if (stat(argv[i], &info) == 0 && !S_ISDIR(info.st_mode)) {
      replay_file(argv[i]);
      n++;
    } else {
      n += replay_folder(argv[i]);
    }
  }
  printf("%zu files replayed\n", n);
  return n > 0 ? 0 : 1;
}
