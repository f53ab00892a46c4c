#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds libascendcl_cpu.so alone: build.sh OUTPUT_FOLDER [compiler options, e.g. -fsanitize=thread]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=$1
shift
mkdir -p "$out"
exec ${CXX:-g++} -std=c++17 -O2 -g -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -fPIC -shared \
    -fvisibility=hidden "$@" -I"$root/csrc/include" "$root"/csrc/cpu_device/*.cpp -o "$out/libascendcl_cpu.so" \
    -Wl,-soname,libascendcl_cpu.so -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,--no-undefined \
    -Wl,--version-script="$root/csrc/cpu_device/exports.map" -lpthread -ldl
