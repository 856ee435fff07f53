#!/bin/sh
# check_install.sh BUILD SOURCE CC: installs to a folder of its own, builds test/api/consumer.c there by
# find_package(tenon) and by pkg-config, each against both kinds of library, and runs it.
set -eu
build=$1
source=$2
cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/root" >"$work/log" || {
  cat "$work/log"
  exit 1
}
cmake -S "$source/test/api/consumer" -B "$work/consumer" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$work/root" \
  -DCMAKE_BUILD_TYPE=Release >"$work/log" && cmake --build "$work/consumer" >>"$work/log" || {
  cat "$work/log"
  exit 1
}
for program in consumer_shared consumer_static consumer_rt_shared consumer_rt_static; do
  "$work/consumer/$program"
  echo "$program: by find_package"
done

if command -v pkg-config >/dev/null; then
  # The folder was moved since it was configured, as a package of a distribution would be.
  mv "$work/root" "$work/moved"
  lib=$(dirname "$(find "$work/moved" -name tenon.pc)")
  PKG_CONFIG_PATH=$lib
  export PKG_CONFIG_PATH
  # shellcheck disable=SC2046
  "$cc" -std=c11 -o "$work/shared" "$source/test/api/consumer/consumer.c" $(pkg-config --cflags --libs tenon)
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir tenon) "$work/shared"
  # shellcheck disable=SC2046
  "$cc" -std=c11 -o "$work/static" "$source/test/api/consumer/consumer.c" $(pkg-config --cflags tenon) \
    "$(pkg-config --variable=libdir tenon)/libtenon.a" -lm -pthread
  "$work/static"
  echo "consumer: by pkg-config"
fi
