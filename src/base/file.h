/* Files: mapped for reading, written whole and atomically. */
#ifndef TN_BASE_FILE_H
#define TN_BASE_FILE_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/span.h"
#include "base/status.h"

typedef struct tn_file { /* a read-only private mapping; bytes stay valid until closed */
  tn_bytes bytes;
  tn_allocator allocator;
  const char *path; /* absolute, without links, when it was mapped; "" when the kernel does not say */
} tn_file;

/* Regular files only: a directory, device or missing file is TN_IO with a sentence. An empty file maps to 0 bytes.
 * `*out` is allocated from `allocator`. */
TN_MUST_CHECK tn_status tn_file_map(tn_allocator allocator, const char *path, tn_file **out, tn_error *err);
/* As above for `relative` inside the folder `dir`: no absolute path, no "..", no symbolic link that leaves `dir`
 * (checked on the opened descriptor, so it cannot be raced). */
TN_MUST_CHECK tn_status tn_file_map_inside(tn_allocator allocator, const char *dir, const char *relative, tn_file **out,
                                           tn_error *err);
void tn_file_close(tn_file *f); /* NULL is fine */
/* The path that leads from the folder `dir` to the file below it; NULL: it is elsewhere, or `dir` is no folder. */
const char *tn_file_below(const char *dir, const tn_file *f);
/* The folder part of a path, "." when it has none: a part of `path` or constant. */
tn_str tn_file_folder_of(const char *path);
/* The same as a string of its own. LIMIT when it has no room. */
TN_MUST_CHECK tn_status tn_file_folder(const char *path, char *out, size_t room, tn_error *err);

/* The folder, made when it is not there. IO: it cannot be, or others than its owner and group may write in it, or its
 * owner is another user. */
TN_MUST_CHECK tn_status tn_file_own_folder(const char *path, tn_error *err);
/* Writes the bytes unless the file is there: of several who do, one wins. Only its owner may read it. */
TN_MUST_CHECK tn_status tn_file_write_secret(const char *path, tn_bytes bytes, tn_error *err);
/* Writes the parts one after another to a temporary file beside `path`, then renames it over `path`. */
TN_MUST_CHECK tn_status tn_file_write(const char *path, const tn_bytes *parts, size_t n_parts, tn_error *err);

#endif
