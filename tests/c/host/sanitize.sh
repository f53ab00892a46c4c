#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the host library, the embedded device and the tests of this folder with a sanitizer, and runs the tests:
#   tests/c/host/sanitize.sh thread | address [FOLDER]
# FOLDER keeps the build for the next time. The kernels are built without: a report inside them is none of theirs.
set -euo pipefail

case ${1:-} in
    thread) flags=-fsanitize=thread ;;
    address) flags=-fsanitize=address,undefined ;;
    *) sed -n '4,7s/^# \?//p' "$0" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=${2:-$(mktemp -d)}
[ -n "${2:-}" ] || trap 'rm -rf "$out"' EXIT
mkdir -p "$out/package/kernels/cpu" "$out/cache/kernels/ascend910b" "$out/full/lib64" "$out/8.1/lib64"

common="-g -O1 -fPIC -fno-omit-frame-pointer $flags -I$root/csrc/include -I$root/kernels"
compile_folder() { # FOLDER OBJECTS FLAGS...
    local folder=$1 objects=$2; shift 2
    mkdir -p "$objects"
    (cd "$folder" && find . -name '*.cpp' | sort) | while read -r file; do
        object=$objects/$(echo "${file#./}" | tr / _).o
        if [ ! -e "$object" ] || [ -n "$(find "$folder" "$root/csrc/include" -newer "$object" -name '*.[hc]*' | head -1)" ]; then
            ${CXX:-g++} -std=c++17 -fvisibility=hidden $common "$@" -c "$folder/$file" -o "$object"
        fi
    done
}

compile_folder "$root/csrc/host" "$out/host" -DASCEND_CY_BUILDING_HOST
${CXX:-g++} -shared $flags -Wl,-soname,libascend_cy.so -Wl,-Bsymbolic "-Wl,--version-script=$root/csrc/host/exports.map" \
    -o "$out/package/libascend_cy.so" "$out"/host/*.o -ldl -lpthread
compile_folder "$root/csrc/cpu_device" "$out/device"
${CXX:-g++} -shared $flags -Wl,-soname,libascendcl_cpu.so -Wl,-Bsymbolic -o "$out/package/libascendcl_cpu.so" \
    "$out"/device/*.o -ldl -lpthread
for op in layernorm; do
    [ -e "$out/package/kernels/cpu/$op.x86-64-v1.so" ] || [ "$(uname -m)" != x86_64 ] ||
        ${CXX:-g++} -std=c++17 -O2 -fPIC -shared -march=x86-64 -ffp-contract=off -fvisibility=hidden "-I$root/csrc/include" \
            "-I$root/kernels/include" "$root/kernels/$op/${op}_cpu.cpp" -o "$out/package/kernels/cpu/$op.x86-64-v1.so"
done
cp "$root/csrc/host/device_sim.json" "$out/package"
: > "$out/cache/kernels/ascend910b/layernorm.o"
: > "$out/cache/kernels/ascend910b/layernorm_backward.o"
for level in full 8.1; do
    ${CC:-gcc} -std=gnu11 $common -shared -fvisibility=hidden $([ $level = full ] || echo -DFAKE_ACL_LEVEL=1) \
        "$here/fake_acl.c" -o "$out/$level/lib64/libascendcl.so" -Wl,-soname,libascendcl.so -lpthread
done
for name in test_pool test_refused_frees test_streams test_launch test_launch_backward test_module test_lifetime test_threads test_reuse; do
    ${CXX:-g++} -std=c++17 $common "$here/$name.cpp" -o "$out/$name" "-L$out/package" -lascend_cy \
        "-Wl,-rpath,$out/package" -ldl -lpthread
done

export ASCEND_CY_CACHE_DIR=$out/cache ROUNDS=${ROUNDS:-300}
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
export UBSAN_OPTIONS="halt_on_error=1 print_stacktrace=1 ${UBSAN_OPTIONS:-}"
failed=0
run() { # PROGRAM LEAKS ENVIRONMENT...
    local program=$1 leaks=$2; shift 2
    for test in $(env "$@" "$out/$program" --list); do
        if ! env ASAN_OPTIONS="detect_leaks=$leaks ${ASAN_OPTIONS:-}" "$@" timeout 300 "$out/$program" "$test" \
            > "$out/output" 2>&1; then
            echo "FAILED: $program $test ($*)"
            head -60 "$out/output"
            failed=1
        fi
    done
    echo "$program ($*) done"
}
for level in full 8.1; do
    fake="ASCEND_CY_DEVICE=npu ASCEND_HOME_PATH=$out/$level FAKE_ACL_DEVICES=2"
    run test_streams 1 $fake
    run test_launch 1 $fake
    run test_launch_backward 1 $fake
    run test_module 1 $fake
    run test_lifetime 0 $fake # leaves things alive on purpose
done
run test_pool 1 $fake
run test_refused_frees 1 $fake
run test_threads 1 $fake
for program in test_lifetime test_threads test_reuse; do
    run $program 0 ASCEND_CY_DEVICE=cpu
done
exit $failed
