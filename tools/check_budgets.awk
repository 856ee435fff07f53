# check_budgets.awk: files over 800 lines and functions over 80. Use: awk -f check_budgets.awk budgets.txt FILE...
# budgets.txt names the exceptions, `PATH LINES reason` or `PATH:FUNCTION LINES reason`; one that is no longer needed
# is a fault too. A function begins with a line at column 0 that ends in "{" and ends with "}" at column 0.

BEGIN {
  max_file = 800
  max_function = 80
}

function fault(text) {
  print text
  n_faults++
}

function weigh(name, lines, limit) {
  if (lines <= limit) return
  if (name in allowed && lines <= allowed[name]) {
    used[name] = 1
    return
  }
  fault(name ": " lines " lines, allowed " (name in allowed ? allowed[name] : limit))
}

function end_file() {
  if (file != "") weigh(file, lines, max_file)
}

FILENAME == ARGV[1] {
  sub(/#.*/, "")
  if (NF == 0) next
  if (NF < 3) fault(FILENAME ":" FNR ": PATH LINES reason expected")
  allowed[$1] = $2 + 0
  next
}

FNR == 1 {
  end_file()
  file = FILENAME
  n_files++
  begin = 0
  head = ""
}

{ lines = FNR }

begin == 0 && /^[A-Za-z_].*\(/ {
  head = $0
  sub(/\(.*/, "", head)
  sub(/.*[ *]/, "", head)
  if (head ~ /^TN_[A-Z_]+$/) { # a macro that defines what its first argument names
    head = $0
    sub(/^[^(]*\(/, "", head)
    sub(/[,)].*/, "", head)
  }
}

begin == 0 && /^[^ \t#}\/].*\{$|^[ \t]+.*\) *\{$/ && !/=/ && head != "" && !/^(typedef|struct|enum|union|extern)/ {
  begin = FNR
  name = head
}

/^}/ {
  if (begin) {
    n_functions++
    weigh(file ":" name, FNR - begin + 1, max_function)
  }
  begin = 0
  head = ""
}

/;$/ && begin == 0 { head = "" }

END {
  end_file()
  if (n_files == 0) fault("no files given")
  for (name in allowed)
    if (!(name in used)) fault(ARGV[1] ": " name " needs no exception")
  if (n_faults) exit 1
  print n_files " files, " n_functions " functions within budget"
}
