#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a small part of the Python suite under valgrind's memcheck; ends with an error where our code reads or writes what it
# must not, or uses what nobody wrote:
#   tools/valgrind.sh [pytest's arguments]
# The python3 of the PATH must have the package installed and what pyproject.toml names for testing. Some fifty times as slow
# as without. Leaks are not looked at: Python ends with much alive (tools/soak.py and the address sanitizer look for them).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 2; }
cd "$root/tests" # not the root, whose ascend_cy would be found first
[ $# -gt 0 ] || set -- test_every_call_fails.py -k "[upload] or [download] or [streams] or [events] or [pinned] or [vector_add_of"
# Each object of Python is a block of its own, so that what lies behind it is watched.
export PYTHONMALLOC=malloc ASCEND_CY_TEST_PATIENCE=50
exec valgrind --tool=memcheck --suppressions="$root/tools/valgrind.supp" --error-exitcode=9 --num-callers=30 --error-limit=no \
    --quiet python3 -m pytest -q -p no:cacheprovider "$@"
