#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the Python suite in hazard mode (docs/memory.md), file by file; ends with an error where a test fails, a use of memory was
# not ordered, or a file did not end in time:
#   tools/hazard.sh [FILE ...]
# All files by default but those named below, with the reason. The python3 of the PATH must have the package installed and what
# pyproject.toml names for testing. SECONDS_A_FILE (default 900) is each file's time, LOGS a folder that keeps what was printed.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
left_out() {
    case $1 in
        test_c_*.py | test_abi_headers.py) echo "C programs, which get an environment of their own" ;;
        test_bench.py) echo "measures; the mode costs microseconds a call" ;;
        test_hazards.py) echo "sets the mode itself, test by test" ;;
        test_sanitizer_reports.py | test_npu_cases.py) echo "reads reports and sources; no memory of a device" ;;
        test_packaging.py | test_downstream.py) echo "builds packages" ;;
        *) return 1 ;;
    esac
}

cd "$root/tests" # not the root, whose ascend_cy would be found first
logs=${LOGS:-$(mktemp -d)}
mkdir -p "$logs"
[ $# -gt 0 ] && files=("$@") || files=(test_*.py)
failed=()
for file in "${files[@]}"; do
    if [ $# -eq 0 ] && reason=$(left_out "$file"); then
        echo "$file: left out: $reason"
        continue
    fi
    begin=$SECONDS
    ASCEND_CY_POOL_HAZARD=1 timeout "${SECONDS_A_FILE:-900}" python3 -m pytest -q -p no:cacheprovider "$file" > "$logs/$file.log" 2>&1
    case $? in
        0) ;;
        124) failed+=("$file"); echo "did not end in time" >> "$logs/$file.log" ;;
        *) failed+=("$file") ;;
    esac
    echo "$file: $(tail -1 "$logs/$file.log") [$((SECONDS - begin)) s]"
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]} (see $logs)"; exit 1; }
