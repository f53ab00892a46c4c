# SPDX-License-Identifier: Apache-2.0
"""The samples of examples/01_simd_cpp_api that run on the vector cores of 910B and call no function of the high-level
library: with host code of their own, except for the `<<<>>>` launch unchanged."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    folder: str
    scenarios: tuple[int, ...] = ()  # those for 910B; empty: the sample has none
    prints: str = "test pass!"  # what its README shows for a right result
    times: int = 1  # so often
    program: str = "demo"


def span(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1))


_VECTOR = "03_basic_api/01_memory_vector_compute"
_COMPILE = "02_features/04_compile"
_SUCCESS = "[Success] Case accuracy verification passed."

SAMPLES = (
    Sample("00_introduction/00_quickstart/hello_world", prints="Hello World!!!", times=8),
    Sample("00_introduction/01_add/add"),
    Sample("00_introduction/01_add/add_tpipe_tque"),
    Sample("01_utilities/04_profiling/msprof"),
    Sample("01_utilities/05_sanitizer/ms_sanitizer"),
    Sample("01_utilities/06_cpu_debug", prints="[Success] Case accuracy is verification passed.", program="cpu_debug"),
    Sample("02_features/00_framework/04_aclgraph", span(1, 2)),
    Sample("02_features/02_tiling_selector/vector_tiling_strategy", span(0, 3)),
    Sample(f"{_COMPILE}/00_basic_compile"),
    Sample(f"{_COMPILE}/01_separate_compile"),
    Sample(f"{_COMPILE}/02_dynamic_library_compile"),
    Sample(f"{_COMPILE}/03_static_library_compile"),
    Sample("03_basic_api/00_data_movement/copy_ub2ub", span(1, 3)),
    Sample("03_basic_api/00_data_movement/data_copy_gm2ub_slice"),
    Sample("03_basic_api/00_data_movement/data_copy_pad_gm2ub_ub2gm", span(1, 2)),
    Sample(f"{_VECTOR}/brcb"),
    Sample(f"{_VECTOR}/cast", span(0, 1)),
    Sample(f"{_VECTOR}/compare", span(1, 3)),
    Sample(f"{_VECTOR}/create_vec_index"),
    Sample(f"{_VECTOR}/duplicate"),
    Sample(f"{_VECTOR}/element_wise_arithmetic"),
    Sample(f"{_VECTOR}/element_wise_compound_compute", span(1, 2)),
    Sample(f"{_VECTOR}/element_wise_logic", (1, 4)),
    Sample(f"{_VECTOR}/gather", span(1, 4)),
    Sample(f"{_VECTOR}/mrg_sort", span(1, 3)),
    Sample(f"{_VECTOR}/reduce"),
    Sample(f"{_VECTOR}/reduce_computation", span(1, 6)),
    Sample(f"{_VECTOR}/reduce_data_block", span(1, 3)),
    Sample(f"{_VECTOR}/reduce_pair_elem"),
    Sample(f"{_VECTOR}/reduce_repeat", span(1, 4)),
    Sample(f"{_VECTOR}/select", span(1, 3)),
    Sample(f"{_VECTOR}/transpose", span(1, 3)),
    Sample("03_basic_api/04_memory_management/list_tensor_desc_input", prints=_SUCCESS),
    Sample("03_basic_api/04_memory_management/tbufpool_management", span(1, 3)),
    Sample("03_basic_api/04_memory_management/tensor_allocation", span(1, 3)),
    Sample("03_basic_api/04_memory_management/tmp_buffer"),
    Sample("03_basic_api/05_sync_control/data_sync_barrier"),
    Sample("03_basic_api/05_sync_control/group_barrier", prints="OUTPUT = 24", times=6),
    Sample("03_basic_api/05_sync_control/ib_set_wait"),
    Sample("03_basic_api/05_sync_control/sequential_block_sync"),
    Sample("03_basic_api/05_sync_control/sync_all"),
    Sample("03_basic_api/05_sync_control/task_sync"),
    Sample("03_basic_api/06_atomic/data_movement_with_atomic_operations", span(1, 2)),
    Sample("03_basic_api/07_tpipe_tque/get_tpipe_ptr", prints=_SUCCESS),
    Sample("03_basic_api/07_tpipe_tque/tpipe_reuse"),
    Sample("03_basic_api/09_utils/gm_by_dcache"),
    Sample("03_basic_api/09_utils/gm_by_pass_dcache"),
    Sample("05_best_practices/00_vector_compute/add_high_performance", span(0, 6)),
    Sample("05_best_practices/04_memory_access/bank_conflict_ub", span(1, 8)),
    Sample("06_compatibility_guide/scatter"),
)
