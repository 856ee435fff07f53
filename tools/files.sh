#!/bin/sh
# files.sh FOLDER...: the C sources and headers below the folders, one a line, sorted; folders that do not exist are
# passed over.
export LC_ALL=C
for folder in "$@"; do
  if [ -d "$folder" ]; then find "$folder" -name '*.[ch]' -type f; fi
done | sort
