/* Mapped input files and atomically replaced output files. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/thread.h"

enum { FILE_PIECES = 64, FILE_WRITE_MAX = 1 << 30 }; /* of one call to write: Linux takes 1024 and 2^31 - 4096 bytes */

static const char *file_error(int number) { return strerror_l(number, newlocale(LC_ALL_MASK, "C", (locale_t)0)); }

static tn_status file_fail(tn_error *err, const char *what, const char *path, int number) {
  return tn_error_set(err, TN_IO, "cannot %s '%.400s': %s", what, path, file_error(number));
}

static tn_status file_check_regular(const struct stat *st, const char *path, tn_error *err) {
  if (S_ISREG(st->st_mode)) return TN_OK;
  const char *kind = S_ISDIR(st->st_mode) ? "is a directory" : "is not a regular file";
  return tn_error_set(err, TN_IO, "cannot read '%.400s': it %s", path, kind);
}

static bool file_real_path(int fd, char path[PATH_MAX]) {
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, PATH_MAX - 1);
  if (n <= 0 || n >= PATH_MAX - 1) return false;
  path[n] = 0;
  return path[0] == '/';
}

/* Maps the open file; the descriptor stays the caller's. */
static tn_status file_map_fd(tn_allocator allocator, int fd, const char *path, tn_file **out, tn_error *err) {
  struct stat st;
  if (fstat(fd, &st) != 0) return file_fail(err, "read", path, errno);
  TN_TRY(file_check_regular(&st, path, err));
  if ((uintmax_t)st.st_size > PTRDIFF_MAX) return file_fail(err, "read", path, EFBIG);
  const size_t size = (size_t)st.st_size;
  const void *bytes = "";
  if (size) {
    bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) return file_fail(err, "map", path, errno);
  }
  char real[PATH_MAX];
  if (!file_real_path(fd, real)) real[0] = 0;
  tn_file *f = tn_alloc(allocator, sizeof *f + strlen(real) + 1);
  if (!f) {
    if (size) (void)munmap((void *)(uintptr_t)bytes, size);
    return tn_error_set(err, TN_OOM, "no memory to open '%.400s'", path);
  }
  *f = (tn_file){{bytes, size}, allocator, memcpy(f + 1, real, strlen(real) + 1)};
  *out = f;
  return TN_OK;
}

/* O_NONBLOCK: opening a pipe must not wait for a writer; it has no effect on regular files. */
enum { FILE_READ = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

tn_status tn_file_map(tn_allocator allocator, const char *path, tn_file **out, tn_error *err) {
  *out = NULL;
  const int fd = open(path, FILE_READ);
  if (fd < 0) return file_fail(err, "open", path, errno);
  const tn_status status = file_map_fd(allocator, fd, path, out, err);
  (void)close(fd);
  return status;
}

/* The next component of *path, copied to `name`: 1, at the end 0, or -1 when it is ".." or too long. */
static int file_next_component(const char **path, char name[NAME_MAX + 1]) {
  const char *p = *path;
  for (;;) {
    while (*p == '/') p++;
    const size_t n = strcspn(p, "/");
    if (n == 0) return 0;
    *path = p + n;
    if ((n == 2 && p[0] == '.' && p[1] == '.') || n > NAME_MAX) return -1;
    if (n == 1 && p[0] == '.') {
      p = *path;
      continue;
    }
    memcpy(name, p, n);
    name[n] = 0;
    return 1;
  }
}

static bool file_is_plain_relative(const char *relative) {
  char name[NAME_MAX + 1];
  int n_names = 0;
  if (relative[0] == '/') return false;
  for (;;) {
    const int got = file_next_component(&relative, name);
    if (got <= 0) return got == 0 && n_names > 0;
    n_names++;
  }
}

/* Opens (O_PATH) component by component without following links; -1 with errno, ELOOP or ENOTDIR at a link. */
static int file_walk(int dir_fd, const char *relative) {
  char name[NAME_MAX + 1];
  int fd = dir_fd;
  while (file_next_component(&relative, name) > 0) {
    const int next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    const int number = errno;
    if (fd != dir_fd) (void)close(fd);
    if (next < 0) {
      errno = number;
      return -1;
    }
    fd = next;
  }
  return fd;
}

/* What follows `dir` and a slash in `path`; NULL: it is no path below it. */
static const char *file_below(const char *dir, const char *path) {
  const size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
  return strncmp(dir, path, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* Whether the opened file lies under the opened folder, by the names the kernel has for both. */
static bool file_is_under(int dir_fd, int fd) {
  char dir[PATH_MAX], file[PATH_MAX];
  return file_real_path(dir_fd, dir) && file_real_path(fd, file) && file_below(dir, file);
}

/* Opens `relative` for O_PATH. A path through links is followed only here, and taken only when it ends inside. */
static tn_status file_open_inside(int dir_fd, const char *relative, int *out_fd, tn_error *err) {
  int fd = file_walk(dir_fd, relative);
  struct stat st;
  const bool is_link = fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
  if (is_link) {
    (void)close(fd);
    fd = -1;
  }
  if (fd < 0 && (is_link || errno == ELOOP || errno == ENOTDIR)) {
    fd = openat(dir_fd, relative, O_PATH | O_CLOEXEC);
    if (fd >= 0 && !file_is_under(dir_fd, fd)) {
      (void)close(fd);
      return tn_error_set(err, TN_INVALID, "'%.400s' leads out of the model's folder through a symbolic link",
                          relative);
    }
  }
  if (fd < 0) return file_fail(err, "open", relative, errno);
  *out_fd = fd;
  return TN_OK;
}

/* The O_PATH descriptor names the file for good; this opens that very file for reading. */
static tn_status file_map_opened(tn_allocator allocator, int path_fd, const char *relative, tn_file **out,
                                 tn_error *err) {
  struct stat st;
  if (fstat(path_fd, &st) != 0) return file_fail(err, "read", relative, errno);
  TN_TRY(file_check_regular(&st, relative, err));
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
  const int fd = open(link, FILE_READ);
  if (fd < 0) return file_fail(err, "open", relative, errno);
  const tn_status status = file_map_fd(allocator, fd, relative, out, err);
  (void)close(fd);
  return status;
}

tn_status tn_file_map_inside(tn_allocator allocator, const char *dir, const char *relative, tn_file **out,
                             tn_error *err) {
  *out = NULL;
  if (!file_is_plain_relative(relative))
    return tn_error_set(err, TN_INVALID, "'%.400s' is not a path inside the model's folder", relative);
  const int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (dir_fd < 0) return file_fail(err, "open the folder", dir, errno);
  int fd = -1;
  tn_status status = file_open_inside(dir_fd, relative, &fd, err);
  if (status == TN_OK) {
    status = file_map_opened(allocator, fd, relative, out, err);
    (void)close(fd);
  }
  (void)close(dir_fd);
  return status;
}

void tn_file_close(tn_file *f) {
  if (!f) return;
  if (f->bytes.len) (void)munmap((void *)(uintptr_t)f->bytes.ptr, f->bytes.len);
  const tn_allocator allocator = f->allocator;
  tn_free(allocator, f, sizeof *f + strlen(f->path) + 1);
}

const char *tn_file_below(const char *dir, const tn_file *f) {
  char real[PATH_MAX];
  const int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
  const bool known = fd >= 0 && file_real_path(fd, real);
  if (fd >= 0) (void)close(fd);
  return known ? file_below(real, f->path) : NULL;
}

tn_str tn_file_folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (tn_str){path, (size_t)(slash - path) + (slash == path)} : tn_str_of(".");
}

tn_status tn_file_folder(const char *path, char *out, size_t room, tn_error *err) {
  const tn_str folder = tn_file_folder_of(path);
  if (folder.len >= room) return tn_error_set(err, TN_LIMIT, "the path '%.400s...' is too long", path);
  memcpy(out, folder.ptr, folder.len);
  out[folder.len] = 0;
  return TN_OK;
}

tn_status tn_file_own_folder(const char *path, tn_error *err) {
  struct stat st;
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return file_fail(err, "make the folder", path, errno);
  const int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return file_fail(err, "open the folder", path, errno);
  const int number = fstat(fd, &st) == 0 ? 0 : errno;
  (void)close(fd);
  if (number) return file_fail(err, "open the folder", path, number);
  if (st.st_uid != geteuid()) return tn_error_set(err, TN_IO, "the folder '%.400s' belongs to another user", path);
  if (st.st_mode & S_IWOTH) return tn_error_set(err, TN_IO, "everyone may write in the folder '%.400s'", path);
  return TN_OK;
}

/* The next pieces of what is left of the parts, the first of which is written up to `done`. */
static int file_pieces(const tn_bytes *parts, size_t n_parts, size_t done, struct iovec out[FILE_PIECES]) {
  size_t room = FILE_WRITE_MAX;
  int n = 0;
  for (size_t k = 0; k < n_parts && n < FILE_PIECES && room; k++, done = 0) {
    const size_t rest = parts[k].len - done, len = rest < room ? rest : room;
    out[n++] = (struct iovec){(void *)(uintptr_t)(parts[k].ptr + done), len};
    room -= len;
  }
  return n;
}

/* 0 or an errno. */
static int file_write_all(int fd, const tn_bytes *parts, size_t n_parts) {
  struct iovec pieces[FILE_PIECES];
  for (size_t k = 0, done = 0;;) {
    for (; k < n_parts && done >= parts[k].len; k++) done -= parts[k].len;
    if (k == n_parts) return 0;
    const ssize_t n = writev(fd, pieces, file_pieces(parts + k, n_parts - k, done, pieces));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    done += (size_t)n;
  }
}

/* A device or pipe is written in place: renaming over it would destroy it. */
static tn_status file_write_device(const char *path, const tn_bytes *parts, size_t n_parts, tn_error *err) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return file_fail(err, "write", path, errno);
  int number = file_write_all(fd, parts, n_parts);
  if (close(fd) != 0 && number == 0) number = errno;
  return number ? file_fail(err, "write", path, number) : TN_OK;
}

/* A new file beside `path`. Made by open rather than mkostemp, so that the umask rules its mode. */
static int file_create_temporary(const char *path, char temporary[PATH_MAX]) {
  for (int i = 0; i < 100; i++) {
    const uint64_t salt = (uint64_t)tn_now_ns() + (uint64_t)i;
    const int n = snprintf(temporary, PATH_MAX, "%s.%d-%08x.tmp", path, (int)getpid(), (unsigned)(salt & UINT32_MAX));
    if (n < 0 || n >= PATH_MAX) {
      errno = ENAMETOOLONG;
      return -1;
    }
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

tn_status tn_file_write(const char *path, const tn_bytes *parts, size_t n_parts, tn_error *err) {
  struct stat st;
  if (stat(path, &st) == 0) {
    if (S_ISDIR(st.st_mode)) return file_fail(err, "write", path, EISDIR);
    if (!S_ISREG(st.st_mode)) return file_write_device(path, parts, n_parts, err);
  }
  char temporary[PATH_MAX];
  const int fd = file_create_temporary(path, temporary);
  if (fd < 0) return file_fail(err, "write", path, errno);
  int number = file_write_all(fd, parts, n_parts);
  if (number == 0 && fsync(fd) != 0 && errno != EINVAL && errno != ENOSYS) number = errno;
  if (close(fd) != 0 && number == 0) number = errno;
  if (number == 0 && rename(temporary, path) != 0) number = errno;
  if (number == 0) return TN_OK;
  (void)unlink(temporary);
  return file_fail(err, "write", path, number);
}

tn_status tn_file_write_secret(const char *path, tn_bytes bytes, tn_error *err) {
  char temporary[PATH_MAX];
  const int fd = file_create_temporary(path, temporary);
  if (fd < 0) return file_fail(err, "write", path, errno);
  int number = fchmod(fd, 0600) == 0 ? file_write_all(fd, &bytes, 1) : errno;
  if (close(fd) != 0 && number == 0) number = errno;
  if (number == 0 && link(temporary, path) != 0 && errno != EEXIST) number = errno;
  (void)unlink(temporary);
  return number ? file_fail(err, "write", path, number) : TN_OK;
}
