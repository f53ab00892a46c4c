#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the embedded device and its C tests with a sanitizer and runs them:
#   sanitize.sh thread|address|undefined FOLDER [test ...]
# Ends with 0 if all pass and the sanitizer reports nothing. The kernels are built without: they are test data.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
kind=$1
out=$2
shift 2
mkdir -p "$out/include/ascend_cy"
cp "$root"/csrc/include/ascend_cy/*.h "$root/csrc/cpu_device/ascendcl_cpu.h" "$out/include/ascend_cy/"
flags="-fsanitize=$kind -fno-omit-frame-pointer -g -O1"
# C callers may pass any number for an enum, and must get an error; GCC gives enums the full range of int.
[ "$kind" = undefined ] && flags="$flags -fno-sanitize-recover=all -fno-sanitize=enum"
if [ ! -f "$out/libascendcl_cpu.so" ] || [ -n "$(find "$root/csrc/cpu_device" -newer "$out/libascendcl_cpu.so")" ]; then
    "$here/build.sh" "$out" $flags
fi
${CXX:-g++} -std=c++17 -O1 -g -fPIC -shared -I"$out/include" "$here/kernels.cpp" -o "$out/test_kernels_cpu.so"
${CXX:-g++} -std=c++17 -O1 -g -fPIC -shared -DTARGET=2 -I"$out/include" "$here/kernels.cpp" -o "$out/test_kernels_sim.so"
export DEVICE_TEST_KERNELS="$out" DEVICE_TEST_SLOW=1
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1}"
export UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}"
failed=0
run() {
    echo "== $kind: $*"
    status=0
    timeout 300 "$@" >"$out/log.txt" 2>&1 || status=$?
    if [ $status = 77 ]; then
        echo "-- not run: $(tail -1 "$out/log.txt")"
    elif [ $status != 0 ]; then
        cat "$out/log.txt"
        echo "!! failed: $*"
        failed=1
    fi
}
for source in "$here"/test_*.c "$here"/test_*.cpp; do
    name=$(basename "${source%.*}")
    if [ $# -gt 0 ]; then
        case " $* " in *" $name "*) ;; *) continue ;; esac
    fi
    case $source in *.c) compiler="${CC:-gcc} -std=gnu11" ;; *) compiler="${CXX:-g++} -std=c++17" ;; esac
    $compiler $flags -I"$out/include" "$source" -o "$out/$name" -L"$out" -lascendcl_cpu -Wl,-rpath,"$out" -lpthread -lm
    case $name in
    test_process)
        for way in fork_unused fork_used fork_states exit_running exit_endless exit_many_binaries exit_in_callback exit_waiting exit_with_waiting_thread \
            exit_handler exit_handler_stuck exit_executing exit_handler_models finalize_with_work settings_by_call fault_sequence; do
            # A sanitizer's own threads do not survive a fork.
            [ "$kind" = thread ] && case $way in fork*) continue ;; esac
            # The child does not have the stacks of the parent's threads: what only they know looks lost to it.
            leaks=1
            case $way in fork_used | fork_states) leaks=0 ;; esac
            ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=$leaks" run "$out/$name" $way
        done
        ;;
    test_threads) run "$out/$name" 3 30 && run "$out/$name" 1 20 ;;
    test_in_use) run "$out/$name" && run "$out/$name" no_membarrier ;;
    test_lifetimes) run "$out/$name" && run "$out/$name" 20 no_membarrier ;;
    test_callback) run "$out/$name" && run "$out/$name" 1 ;;
    *) run "$out/$name" ;;
    esac
done
exit $failed
