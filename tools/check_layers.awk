# check_layers.awk: proves the #include rules. Use: awk -f check_layers.awk layers.txt FILE...
# with the files of src/ as src/<folder>/<name>. What may be included:
#   <folder>/x      the own folder and those of the folder's row
#   tenon/x         the public headers; tenon.h and tenon_unstable.h by driver and cli only; cli takes nothing else
#   x_list.inc      lists made by the build: op and kern only; source_hash.inc: driver only
# op/ is included by nobody, and a row names only rows above it, so there are no cycles.

function fault(text) {
  print text
  n_faults++
}

FNR == NR {
  sub(/#.*/, "")
  if (NF == 0) next
  split($0, half, ":")
  gsub(/ /, "", half[1])
  n = split(half[2], below, " ")
  may[half[1], half[1]] = 1
  for (i = 1; i <= n; i++) {
    if (!(below[i] in known)) fault(FILENAME ": " half[1] " names " below[i] ", which is not above it")
    if (below[i] == "op") fault(FILENAME ": " half[1] " includes op, which nobody may")
    may[half[1], below[i]] = 1
  }
  known[half[1]] = 1
  next
}

FNR == 1 {
  n = split(FILENAME, part, "/")
  folder = part[n - 1]
  if (!(folder in known)) fault(FILENAME ": the folder has no row in layers.txt")
  n_files++
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
  path = $0
  sub(/^[^"]*"/, "", path)
  sub(/".*/, "", path)
  where = FILENAME ":" FNR ": "
  if (path == "source_hash.inc" && folder == "driver") next
  if (path ~ /^(gen\/)?[a-z]+_list\.inc$/) {
    if (folder != "op" && folder != "kern") fault(where folder " includes a generated list")
    next
  }
  if (path !~ /\// || path ~ /\.\./) {
    fault(where "\"" path "\" is not written from src/")
    next
  }
  from = path
  sub(/\/.*/, "", from)
  if (from == "tenon") {
    if (path ~ /^tenon\/tenon/ && folder != "cli" && folder != "driver") fault(where folder " includes the C API")
  } else if (!((folder, from) in may)) {
    fault(where folder " includes " from)
  }
}

END {
  if (n_files == 0) fault("no files given")
  if (n_faults) exit 1
  print n_files " files keep the layers"
}
