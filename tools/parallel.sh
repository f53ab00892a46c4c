#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of what threads share with pytest-run-parallel: each test in several threads at once.
#   tools/parallel.sh [pytest's arguments]            # files and options; the files below by default
#   tools/parallel.sh --thread-sanitizer FOLDER [...] # the same under ThreadSanitizer: tools/sanitizers.sh keeps its build in FOLDER
# The python3 of the PATH must have the package installed (the sanitizer builds its own), what pyproject.toml names for testing, and
# pytest-run-parallel. THREADS says how many (default 4).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
folder=
if [ "${1:-}" = --thread-sanitizer ]; then
    folder=${2:?which folder?}
    shift 2
fi
[ $# -gt 0 ] || set -- test_device_array.py test_empty_many.py test_dlpack.py test_streams_events.py test_memory_pool.py \
    test_memory_pools.py test_pipeline.py test_futures.py test_modules.py test_vector_add_matmul.py test_layernorm_arguments.py \
    test_layernorm_backward.py test_profiler.py test_errors.py

# Tests that call one of these stay in one thread: they change or count what the whole process has, or start processes.
process_wide=$(printf '%s\n' embedded.faults embedded.counted_calls embedded.slow_kernels child.check child.run child.start \
    ascend_cy.live_objects ascend_cy.memory_stats ascend_cy.set_memory_limit ascend_cy.reset_peak_memory ascend_cy.trim_memory \
    ascend_cy.modules ascend_cy.profiler.profile)

# And these are left to the plain run.
alone=(
    # One stream that all threads have from a fixture: each blocks it, or breaks it, for itself.
    test_streams_events.py::test_a_launch_returns_while_the_kernel_runs
    test_streams_events.py::test_query_never_waits
    test_futures.py::test_it_is_done_when_the_work_has_passed
    test_futures.py::test_with_the_tools_of_concurrent_futures
    test_futures.py::test_cancelling
    test_futures.py::test_a_timeout_of_asyncio
    # Counts how often a loop comes round meanwhile.
    test_futures.py::test_the_loop_runs_meanwhile
    # Counts the threads of the process.
    test_futures.py::test_threads_end_when_nothing_is_waited_for
    # The failure of a stream reaches whoever waits for all of them first.
    test_futures.py::test_synchronize_all_reports_a_failure_and_waits_for_the_rest
    # Asserts that nobody called anything meanwhile: the next call of any thread drops what has passed.
    test_streams_events.py::test_when_a_kept_reference_goes
)

cd "$root/tests" # not the root, whose ascend_cy would be found first
options=(-p no:cacheprovider --parallel-threads="${THREADS:-4}" -o "thread_unsafe_functions=$process_wide")
for test in "${alone[@]}"; do
    options+=("--deselect=tests/$test")
done
if [ -n "$folder" ]; then
    PYTEST=$(printf '%q ' "${options[@]}" "$@") exec "$root/tools/sanitizers.sh" thread "$folder" python
fi
python3 -m pytest -q "${options[@]}" "$@"
