#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the Python suite in hazard mode (docs/memory.md), file by file; ends with an error where a test fails, a use of memory was
# not ordered, or a file did not end in time:
#   tools/hazard.sh [FILE ...]        # names of files in tests/; all by default
# The work is done by tests/test_hazard_suite.py, which says what is left out and why; `pytest` alone runs the part of it that takes
# minutes. The python3 of the PATH must have the package installed and what pyproject.toml names for testing.
set -euo pipefail

cd "$(dirname "$0")/../tests" # not the root, whose ascend_cy would be found first
names=$(printf ' or %s' "$@")
exec python3 -m pytest -v -p no:cacheprovider -m "slow or not slow" ${1:+-k "${names# or }"} --durations=0 --durations-min=1 \
    test_hazard_suite.py
