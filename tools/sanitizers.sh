#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds everything with a sanitizer and runs the tests with it:
#   tools/sanitizers.sh thread | address | undefined  FOLDER  [device | host | python ...]
# FOLDER keeps the builds for the next time. Parts, all by default:
#   device  the C tests of the embedded device (tests/c/device/sanitize.sh)
#   host    the C++ tests of the host library (tests/c/host/sanitize.sh; address brings undefined with it)
#   python  the Python suite, with the sanitizer's library loaded before everything else (thread and address only)
# The python part tests with the python3 of the PATH, which must have what pyproject.toml names for building and testing.
# PYTEST names the files and options, quoted as in a shell (default: the files below):
#   PYTEST="test_modules.py -k 'reload or launch'" tools/sanitizers.sh thread FOLDER python
# It takes some ten times as long as the plain tests do.
set -euo pipefail

kind=${1:-}
case $kind in thread | address | undefined) ;; *) sed -n '4,15s/^# \?//p' "$0" >&2; exit 2 ;; esac
[ -n "${2:-}" ] || { echo "which folder?" >&2; exit 2; }
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
parts=${*:-device host python}
root=$(cd "$(dirname "$0")/.." && pwd)
failed=

python_suite() {
    case $kind in
        thread) library=libtsan.so ;;
        address) library=libasan.so ;;
        *) echo "python: nothing to do for $kind"; return 0 ;;
    esac
    library=$(${CC:-gcc} -print-file-name=$library)
    # With the C++ runtime behind it: what throws is looked for before any module of C++ is loaded.
    library="$(readlink -f "$library") $(readlink -f "$(${CC:-gcc} -print-file-name=libstdc++.so.6)")"
    local build=$folder/build install=$folder/install reports=$folder/reports status=0
    [ -d "$build" ] || (cd "$root" && meson setup "$build" -Db_sanitize=$kind -Db_lundef=false \
        -Ddebug=true -Doptimization=1 -Dcann=disabled) || return 1
    ninja -C "$build" ${JOBS:+-j$JOBS} || return 1
    rm -rf "$install" "$reports"
    mkdir -p "$reports"
    meson install -C "$build" --destdir "$install" >/dev/null || return 1
    local site
    site=$(cd "$(find "$install" -type d -name ascend_cy -path '*-packages/*' | head -1)/.." && pwd)
    local files="test_streams_events.py test_futures.py test_modules.py test_pipeline.py test_memory_pool.py test_process.py
        test_faults.py test_device_array.py test_array_machine.py test_dlpack.py test_cimport_consumer.py
        test_vector_add_matmul.py test_layernorm_arguments.py test_layernorm_numbers.py test_layernorm_properties.py
        test_layernorm_backward.py"
    # The debugger's allocator: each object of Python is a block of its own, so that what lies behind it is watched.
    export PYTHONMALLOC=malloc PYTHONPATH=$site ASCEND_CY_TEST_SITE=$site ASCEND_CY_TEST_PATIENCE=10
    # Python ends with much alive, and so do compilers: leaks are judged by where they come from, afterwards.
    export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1:detect_odr_violation=0:quarantine_size_mb=64:log_path=$reports/asan"
    export LSAN_OPTIONS="exitcode=0:report_objects=0"
    # Without suppressions: a frame of Python's is in nearly every stack, and the sanitizer has to see the GIL's own mutex.
    export TSAN_OPTIONS="halt_on_error=0:exitcode=66:second_deadlock_stack=1:ignore_noninstrumented_modules=1:history_size=4"
    TSAN_OPTIONS="$TSAN_OPTIONS:allocator_may_return_null=1:log_path=$reports/tsan"
    # Children of fork may start threads: those that were forked before the device was used do.
    TSAN_OPTIONS="$TSAN_OPTIONS:die_after_fork=0"
    cd "$root/tests" # not the root, whose ascend_cy would be found first
    eval "set -- ${PYTEST:-$(echo $files)}"
    LD_PRELOAD=$library python3 -m pytest -q -p no:cacheprovider "$@" | tee "$folder/pytest.log" || status=1
    # A sanitizer that gives up ends the process as if nothing had happened.
    grep -Eq '[0-9]+ passed' "$folder/pytest.log" || { echo "the tests did not come to their end"; status=1; }
    case $kind in
        thread) # reports of processes whose exit code no test looks at count as well
            if grep -l 'WARNING: ThreadSanitizer' "$reports"/tsan.* 2>/dev/null; then status=1; fi ;;
        address)
            if grep -l 'ERROR: AddressSanitizer' "$reports"/asan.* 2>/dev/null; then status=1; fi
            PYTHONMALLOC= PYTHONPATH= python3 "$root/tests/sanitizers/leaks_of.py" "$site" $(find "$reports" -type f) || status=1 ;;
    esac
    return $status
}

for part in $parts; do
    echo "==== $part, $kind"
    case $part in
        device) DEVICE_TEST_PLACES=1 sh "$root/tests/c/device/sanitize.sh" "$kind" "$folder/device" || failed="$failed $part" ;;
        host)
            if [ "$kind" = undefined ]; then echo "host: part of address"; continue; fi
            bash "$root/tests/c/host/sanitize.sh" "$kind" "$folder/host" || failed="$failed $part" ;;
        python) (python_suite) || failed="$failed $part" ;;
        *) echo "no part $part" >&2; exit 2 ;;
    esac
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
