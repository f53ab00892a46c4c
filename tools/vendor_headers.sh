#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles every kernel source, syntax only, against the vendor's own Ascend C headers in their CPU-debug mode for 910B.
#
#   tools/vendor_headers.sh TOOLKIT
#
# TOOLKIT is an installed toolkit (…/ascend-toolkit/8.1.RC1), or a copy of its folders <machine>-linux/ascendc and
# tools/tikicpulib. It is only read, and nothing is fetched. The exit code is 1 when a source has an error or a warning.
set -u
toolkit=${1:?usage: vendor_headers.sh TOOLKIT}
root=$(cd "$(dirname "$0")/.." && pwd)
for machine in "$(uname -m)" aarch64 x86_64; do
    api=$toolkit/$machine-linux/ascendc/include
    [ -f "$api/basic_api/kernel_operator.h" ] && break
done
cpu=$toolkit/tools/tikicpulib/lib/include
for header in "$api/basic_api/kernel_operator.h" "$cpu/tikicpulib.h"; do
    [ -f "$header" ] || { echo "vendor_headers.sh: $header is not there" >&2; exit 2; }
done

compile() { # SOURCE: prints what the compiler says of it
    "${CXX:-g++}" -std=c++17 -fsyntax-only -Wall -Wextra -x c++ \
        -D__CCE_AICORE__=220 -D__DAV_C220__ -D__CCE_KT_TEST__=1 -DASCENDC_CPU_DEBUG=1 -DASCENDC_DEBUG=1 \
        -isystem "$api/basic_api" -isystem "$api/basic_api/interface" -isystem "$api/basic_api/impl" \
        -isystem "$api/highlevel_api" -isystem "$api/highlevel_api/impl" -isystem "$cpu" "$@" 2>&1
}

# The headers must be taken for what they are: a call that does not exist has to fail.
if printf '#include "kernel_operator.h"\nvoid f() { AscendC::NoSuchFunction(); }\n' | compile - >/dev/null; then
    echo "vendor_headers.sh: the headers accept anything" >&2
    exit 2
fi
printf '#include "kernel_operator.h"\nvoid f() { AscendC::PipeBarrier<PIPE_ALL>(); }\n' | compile - || exit 2

failed=0
for source in $(grep -l __global__ "$root"/kernels/*/*.cpp); do
    if said=$(compile "$source") && [ -z "$said" ]; then
        echo "ok  $(basename "$source")"
    else
        echo "NOT $(basename "$source")"
        echo "$said" | head -20
        failed=1
    fi
done
exit $failed
