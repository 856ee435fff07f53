/* The folder of the cache is kept below a size: entries that nobody asked for longest go first. Other processes may
 * add, use and remove entries meanwhile; what is mapped stays so when its name goes. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "driver/cache.h"

enum { TRIM_NAME = 2 * TN_DIGEST_BYTES, TRIM_ABANDONED = 3600 /* seconds, of a file that is being written */ };

typedef struct trim_row {
  char name[TRIM_NAME + 1];
  struct timespec used;
  uint64_t bytes;
} trim_row;

void tn_cache_touch(const char *path) { (void)utimensat(AT_FDCWD, path, NULL, 0); }

/* An entry, or, `temporary`, what a writer that was killed left of one. */
static bool trim_is_ours(const char *name, bool *temporary) {
  const size_t digits = strspn(name, "0123456789abcdef"), len = strlen(name);
  *temporary = len > TRIM_NAME && strcmp(name + len - 4, ".tmp") == 0;
  return digits == TRIM_NAME && (len == TRIM_NAME || *temporary);
}

/* The next entry; abandoned files are removed on the way. */
static bool trim_next(DIR *dir, trim_row *out) {
  const struct dirent *e;
  while ((e = readdir(dir))) {
    bool temporary;
    struct stat st;
    if (!trim_is_ours(e->d_name, &temporary) || fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (temporary) {
      if (time(NULL) - st.st_mtime > TRIM_ABANDONED) (void)unlinkat(dirfd(dir), e->d_name, 0);
      continue;
    }
    memcpy(out->name, e->d_name, TRIM_NAME + 1);
    out->used = st.st_mtim;
    out->bytes = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    return true;
  }
  return false;
}

/* Newest first; equal times by name. */
static int trim_order(const void *a, const void *b) {
  const trim_row *const x = a, *const y = b;
  if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? 1 : -1;
  if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? 1 : -1;
  return strcmp(x->name, y->name);
}

static void trim_remove(const char *folder, const trim_row *rows, size_t n, uint64_t most) {
  const int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  uint64_t sum = 0;
  for (size_t i = 0; dir >= 0 && i < n; i++) {
    sum = sum + rows[i].bytes < sum ? UINT64_MAX : sum + rows[i].bytes;
    if (i > 0 && sum > most) (void)unlinkat(dir, rows[i].name, 0);
  }
  if (dir >= 0) (void)close(dir);
}

void tn_cache_trim(tn_ctx *ctx, const char *folder, uint64_t most) {
  trim_row row, *rows = NULL;
  size_t n = 0, room = 0;
  DIR *dir = opendir(folder);
  if (!dir) return;
  while (trim_next(dir, &row)) room++;
  (void)closedir(dir); /* the arena may jump away */
  rows = TN_NEW_ARRAY(&ctx->pass, trim_row, room + 1);
  dir = opendir(folder);
  if (!dir) return;
  while (n < room && trim_next(dir, &rows[n])) n++;
  (void)closedir(dir);
  qsort(rows, n, sizeof rows[0], trim_order);
  trim_remove(folder, rows, n, most);
}
