#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds libascendcl_cpu.so alone: build.sh OUTPUT_FOLDER [compiler options, e.g. -fsanitize=thread]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=$1
shift
mkdir -p "$out"
# Names of files and lines in the report of leaks, where the compiler brings libbacktrace.
backtrace=
if echo 'int main(){}' | ${CXX:-g++} -x c++ -include backtrace.h - -o "$out/probe" -lbacktrace 2>/dev/null; then
    backtrace="-DASCENDCL_CPU_BACKTRACE"
fi
rm -f "$out/probe"
exec ${CXX:-g++} -std=c++17 -O2 -g -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -fPIC -shared \
    -fvisibility=hidden "$@" $backtrace -I"$root/csrc/include" "$root"/csrc/cpu_device/*.cpp -o "$out/libascendcl_cpu.so" \
    -Wl,-soname,libascendcl_cpu.so -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,--no-undefined \
    -Wl,--version-script="$root/csrc/cpu_device/exports.map" -lpthread -ldl ${backtrace:+-lbacktrace}
