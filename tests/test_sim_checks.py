# SPDX-License-Identifier: Apache-2.0
"""Every check of the simulator has a kernel that breaks its rule, is stopped, and is told where and why."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "sim"))
import simdriver  # noqa: E402

pytestmark = pytest.mark.skipif(simdriver.compiler() is None, reason="needs a C++ compiler")

VECTOR_EXCEPTION, VECTOR_TIMEOUT = 507035, 507034

# Kernel -> the function named in the message, and words of the reason.
BROKEN = {
    "buffers_above_ub": ("TPipe::InitBuffer", "do not fit into UB, which has 196608 bytes"),
    "allocator_above_ub": ("LocalMemAllocator::Alloc", "do not fit into UB"),
    "tensor_above_ub": ("LocalTensor", "ends at byte 196640 of UB"),
    "tensor_not_aligned": ("LocalTensor", "address 100 of UB is not a multiple of 32"),
    "operand_not_aligned": ("Adds", "src starts at byte 4 of UB, which is not a multiple of 32"),
    "copy_not_aligned": ("DataCopy", "dst starts at byte 16 of UB"),
    "count_beyond_tensor": ("Duplicate", "dst covers 260 bytes, its tensor has 256"),
    "stride_beyond_tensor": ("Adds", "src covers 544 bytes, its tensor has 512"),
    "spreads_too_few": ("Brcb", "src covers 64 bytes, its tensor has 36"),
    "view_beyond_tensor": ("LocalTensor::operator[]", "offset 65 lies beyond the tensor's 64 elements"),
    "index_beyond_tensor": ("LocalTensor::SetValue", "index 64 is not within the tensor's 64 elements"),
    "reads_what_nobody_wrote": ("Adds", "src reads byte 240 of UB, which nobody has written (ErrorRead2"),
    "stores_what_nobody_wrote": ("DataCopy", "nobody has written"),
    "scalar_reads_what_nobody_wrote": ("LocalTensor::GetValue", "reads byte 12 of UB, which nobody has written"),
    "global_read_past_end": ("DataCopy", "src touches bytes 0 to 287 of a global memory allocation of 256 bytes"),
    "global_write_past_end": ("DataCopyPad", "dst touches bytes 240 to 259 of a global memory allocation of 256 bytes"),
    "global_before_start": ("DataCopy", "which no allocation holds"),
    "global_null": ("DataCopy", "null address"),
    "global_scalar_past_end": ("GlobalTensor::SetValue", "which no allocation holds"),
    "repeat_above_255": ("Duplicate", "repeatTime 256 is not within 0..255"),
    "mask_above_lanes": ("Duplicate", "mask 65 is above the 64 elements of a repeat"),
    "copy_stride_above_4095": ("Copy", "a stride is above 4095"),
    "block_count_above_4095": ("DataCopy", "blockCount 4096 is not within 0..4095"),
    "pad_length_no_element": ("DataCopyPad", "blockLen 6 is not a multiple"),
    "padding_above_block": ("DataCopyPad", "each side takes at most 32 bytes"),
    "round_mode_not_there": ("Cast", "does not take round mode 0"),
    "compare_count_no_repeat": ("Compare", "no multiple of 256 bytes"),
    "compare_int32_less": ("Compare", "int32 compares only with EQ"),
    "pattern_not_there": ("GatherMask", "pattern 8 is not within 1..7"),
    "gather_beyond_source": ("Gather", "offset 256 of element 0 is not an element of src, which has 256 bytes"),
    "merge_list_empty": ("MrgSort", "list 1 has 0 elements"),
    "reduce_tmp_too_small": ("ReduceMax", "the temporary tensor covers"),
    "reduce_without_pipe": ("ReduceSum", "needs a TPipe"),
    "pair_destination_not_aligned": ("WholeReduceMax", "dst starts at byte 260 of UB, which is not a multiple of 8"),
    "scratch_overlaps_buffers": ("Select", "uses the 8 KiB of UB at byte 188416"),
    "slices_do_not_match": ("DataCopy", "the two sides describe 2 and 1 bursts"),
    "buffer_get_no_block": ("TBuf::Get", "7 elements of 4 bytes are no positive multiple of 32 bytes"),
    "overlap_in_a_repeat": ("Add", "dst overlaps src0, 32 bytes apart"),
    "overlap_of_later_repeats": ("Adds", "dst overlaps src, 256 bytes apart"),
    "queue_not_initialised": ("TQue::AllocTensor", "TPipe::InitBuffer was not called (ErrorBuffer0)"),
    "queue_exhausted": ("TQue::AllocTensor", "all 2 buffers of the queue are in use and nobody will free one: deadlock"),
    "queue_empty": ("TQue::DeQue", "the queue is empty"),
    "queue_too_deep": ("TQue::EnQue", "1 tensors are in the queue, its depth is 1"),
    "tensor_freed_twice": ("TQue::FreeTensor", "free already (ErrorFree)"),
    "tensor_of_another_queue": ("TQue::EnQue", "does not belong to this queue"),
    "tensor_queued_twice": ("TQue::EnQue", "in the queue already"),
    "tensor_left_in_queue": ("end of the kernel", "never taken out with DeQue"),
    "too_many_buffers": ("TPipe::InitBuffer", "65 buffers, a TPipe has at most 64"),
    "second_pipe": ("TPipe", "a second TPipe while another one lives"),
    "computes_before_loaded": ("Adds", "src reads bytes 0 to 255 of UB, which DataCopy of pipe MTE2 at line"),
    "stores_before_computed": ("DataCopy", "HardEvent::V_MTE3 is missing"),
    "loads_over_what_is_read": ("DataCopy", "HardEvent::V_MTE2 is missing"),
    "computes_over_what_is_stored": ("Adds", "HardEvent::MTE3_V is missing"),
    "loads_over_what_is_stored": ("DataCopy", "HardEvent::MTE3_MTE2 is missing"),
    "queue_used_without_dequeue": ("Adds", "HardEvent::MTE2_V is missing"),
    "loads_overtake_each_other": ("DataCopy", "nothing orders the two (ErrorSync1; PipeBarrier<PIPE_MTE2> is missing)"),
    "stores_overtake_each_other": ("DataCopyPad", "bytes 124 to 127 of a global memory allocation of 256 bytes, which "
                                   "DataCopy of pipe MTE3 at line"),
    "loads_what_it_just_stored": ("DataCopy", "HardEvent::MTE3_MTE2 is missing"),
    "flag_without_wait": ("end of the kernel", "SetFlag<HardEvent::MTE2_V>(0) has no WaitFlag"),
    "wait_without_flag": ("WaitFlag", "HardEvent::MTE2_V id 1, which no SetFlag raised before"),
    "flag_raised_twice": ("SetFlag", "is raised already, since line"),
    "event_id_8": ("SetFlag", "event id 8 is not within 0..7"),
    "event_ids_exhausted": ("TPipe::AllocEventID", "all 8 ids of HardEvent::V_MTE3 are taken"),
    "flag_of_the_other_core": ("SetFlag", "HardEvent::MTE1_M names a pipe that this core does not have"),
    "barrier_of_the_scalar_unit": ("PipeBarrier", "PIPE_S is not allowed"),
    "barrier_of_the_other_core": ("PipeBarrier", "this core has no pipe M"),
    "asserts": ("assert", "assertion `blocks == 77` failed: blocks is 1"),
    "traps": ("Trap", "the kernel stopped itself"),
}


# The same for broken_argument_kernels.cpp.
BROKEN_ARGUMENTS = {
    "operand_on_another_memory": ("Adds", "src is in A1, vector instructions work on VECIN, VECOUT and VECCALC"),
    "operand_without_memory": ("Adds", "src is in no memory"),
    "copy_without_memory": ("DataCopy", "dst has no memory"),
    "count_negative": ("Adds", "count -8 is negative"),
    "block_stride_zero": ("Adds", "dst has block stride 0"),
    "spread_stride_zero": ("Brcb", "dstBlkStride is 0"),
    "global_not_aligned": ("DataCopy", "is not aligned to its element of 4 bytes"),
    "a_second_allocator": ("LocalMemAllocator", "a second LocalMemAllocator of UB while another one lives"),
    "comparison_has_no_room": ("Compare", "dst covers 32 bytes, its tensor has 16"),
    "mask_of_a_choice_too_short": ("Select", "bytes, its tensor has 32"),
    "gather_base_beyond_source": ("Gather", "base offset 260 lies beyond src, which has 256 bytes"),
    "gather_offsets_too_few": ("Gather", "the offsets covers 64 bytes, its tensor has 32"),
    "gathered_block_beyond_source": ("Gatherb", "offset 256 of block 0 is not a block of src, which has 256 bytes"),
    "sort_has_no_room": ("Sort32", "covers 512 bytes, its tensor has 256"),
    "merge_of_one_list": ("MrgSort", "validBit 1 is none of 3, 7, 15"),
    "merge_list_too_long": ("MrgSort", "list 1 has 4096 elements, which is not within 1..4095"),
    "merge_repeats_of_unequal_lists": ("MrgSort", "repeatTimes 2: more than one needs four lists of equal length"),
    "list_address_not_aligned": ("TransDataTo5HD", "address 3 of a list is not a multiple of 32"),
    "transposed_plane_no_block": ("Transpose", "height times width, 15 elements, is no multiple of 32 bytes"),
    "reduces_nothing": ("ReduceSum", "count 0 is not within 1.."),
    "reduces_to_no_room": ("ReduceMax", "dst covers 8 bytes, its tensor has 4"),
    "reduces_with_negative_stride": ("WholeReduceSum", "dstRepStride -1 is negative"),
    "half_a_pair_of_int4": ("Cast", "int4b_t comes in pairs"),
    "slices_too_many": ("DataCopy", "1537 bursts, at most 1536"),
    "slice_ends_before_it_starts": ("DataCopy", "dst: axis 0 has an end before its start"),
    "atomic_store_of_another_type": ("DataCopy", "atomic stores do not take this type"),
    "initial_values_past_end": ("InitOutput", "dst touches bytes 0 to 259 of a global memory allocation of 256 bytes"),
    "initial_values_without_pipe": ("InitOutput", "needs a TPipe"),
    "dump_beyond_tensor": ("DumpTensor", "covers 260 bytes, its tensor has 256"),
    "buffer_of_no_bytes": ("TPipe::InitBuffer", "both must be positive"),
    "buffer_above_ub": ("TPipe::InitBuffer", "does not fit into UB, which has 196608 bytes"),
    "buffer_not_initialised": ("TBuf::Get", "TPipe::InitBuffer was not called (ErrorBuffer0)"),
    "buffer_get_beyond": ("TBuf::Get", "288 bytes at 0 do not fit into the buffer of 256 bytes"),
    "pipe_pointer_without_pipe": ("GetTPipePtr", "no TPipe lives"),
    "pool_not_initialised": ("TBufPool::InitBuffer", "the pool was not initialised (ErrorBuffer4)"),
    "pool_too_small": ("TBufPool::InitBuffer", "2 buffers of 544 bytes do not fit behind byte 0 of a pool that ends at 1024"),
    "pool_above_ub": ("TPipe::InitBufPool", "does not fit into UB"),
    "pool_in_a_pool_too_large": ("TBufPool::InitBufPool", "does not fit behind byte 0 of a pool that ends at 1024"),
    "pool_has_16_buffers": ("TBufPool::InitBuffer", "17 buffers more than the pool's 16"),
    "padding_of_8_bytes": ("DataCopyPad", "paddingValue is not 0, the only one for types of 8 bytes"),
    "reduces_in_no_order": ("WholeReduceMax", "order 4 is not within 0..3"),
    "spreads_over_itself": ("Brcb", "dst overlaps src, 0 bytes apart: this instruction takes no overlap"),
    "sorts_over_its_indices": ("Sort32", "dst overlaps src1, -128 bytes apart"),
    "gathers_over_itself": ("Gather", "dst overlaps src, -16 bytes apart"),
    "adds_over_halves": ("Axpy", "dst overlaps src, 0 bytes apart"),
    "multiplies_shifted": ("MulAddDst", "dst overlaps src0, 32 bytes apart"),
    "list_beyond_tensors": ("TransDataTo5HD", "a source of the list covers 544 bytes, its tensor has 32"),
    "reduces_with_negative_source_stride": ("WholeReduceSum", "source strides 1 and -8 are not within 0..65535"),
    "takes_out_at_other_positions": ("TQue::DeQue", "DeQue<src, dst> names other positions than the EnQue of this tensor"),
    "free_tensor_queued": ("TQue::EnQue", "the tensor is free; EnQue wants one from AllocTensor or DeQue"),
}


def marked_lines(source):
    lines = {}
    for number, text in enumerate(source.read_text().splitlines(), 1):
        match = re.search(r"// BREAKS (\w+)", text)
        if match:
            lines[match.group(1)] = number
    return lines


SOURCE = simdriver.HERE / "broken_kernels.cpp"
SYNC_SOURCE = simdriver.HERE / "broken_sync_kernels.cpp"
ARGUMENT_SOURCE = simdriver.HERE / "broken_argument_kernels.cpp"
LINES = marked_lines(SOURCE) | marked_lines(SYNC_SOURCE) | marked_lines(ARGUMENT_SOURCE)


@pytest.fixture(scope="module")
def binary():
    return simdriver.Binary(simdriver.build(SOURCE, flags=("-O1", "-Wno-unused-parameter")))


@pytest.fixture(scope="module")
def argument_binary():
    return simdriver.Binary(simdriver.build(ARGUMENT_SOURCE, flags=("-O1", "-Wno-unused-parameter")))


@pytest.fixture(scope="module")
def sync_binary():
    return simdriver.Binary(simdriver.build(SYNC_SOURCE, flags=("-O1", "-Wno-unused-parameter")))


def launch(binary, name, blocks=1, **options):
    x, y = simdriver.Buffer(np.zeros(64, np.float32)), simdriver.Buffer(np.zeros(64, np.float32))
    try:
        binary.launch(name, blocks, x, y, **options)
    finally:
        assert x.untouched_around() and y.untouched_around()
    return x.numpy(), y.numpy()


def assert_reported(error, kernel, block, api, reason, line):
    message = str(error)
    assert message.startswith(f"{kernel}: block {block}: {api}"), message
    assert reason in message, message
    if line is not None:
        assert re.search(rf" at broken_(sync_|argument_)?kernels\.cpp:{line}: ", message), message


@pytest.mark.parametrize("kernel", BROKEN)
def test_broken_kernel_is_named(binary, kernel):
    api, reason = BROKEN[kernel]
    with pytest.raises(simdriver.KernelViolation) as caught:
        launch(binary, kernel)
    assert caught.value.code == VECTOR_EXCEPTION
    assert_reported(caught.value, kernel, 0, api, reason, LINES.get(kernel))


@pytest.mark.parametrize("kernel", BROKEN_ARGUMENTS)
def test_wrong_arguments_are_named(argument_binary, kernel):
    api, reason = BROKEN_ARGUMENTS[kernel]
    with pytest.raises(simdriver.KernelViolation) as caught:
        launch(argument_binary, kernel)
    assert caught.value.code == VECTOR_EXCEPTION
    assert_reported(caught.value, kernel, 0, api, reason, LINES[kernel])


def test_every_kernel_of_wrong_arguments_is_tried(argument_binary):
    assert {k.name.decode() for k in argument_binary.kernels()} == set(BROKEN_ARGUMENTS)


def test_every_kernel_is_tried(binary):
    names = {k.name.decode() for k in binary.kernels()}
    assert {n for n in names if not n.startswith("legal_")} == set(BROKEN) | {"never_ends", "one_block_fails"}


@pytest.mark.parametrize("kernel", ["legal_automatic_order", "legal_old_bytes", "legal_event_reuse",
                                    "legal_overlaps", "legal_reduce_destinations", "legal_copies_in_order"])
def test_legal_patterns_pass(binary, kernel):
    launch(binary, kernel)


def test_a_kernel_that_never_ends(binary, monkeypatch):
    monkeypatch.setenv("ASCEND_CY_SIM_TIMEOUT", "0.3")
    with pytest.raises(simdriver.KernelViolation, match="did not end within 0.3 s") as caught:
        launch(binary, "never_ends", blocks=2)
    assert caught.value.code == VECTOR_TIMEOUT
    assert f"broken_kernels.cpp:{LINES['never_ends']}" in str(caught.value)


def test_the_failing_block_is_named(binary):
    with pytest.raises(simdriver.KernelViolation) as caught:
        launch(binary, "one_block_fails", blocks=8)
    assert_reported(caught.value, "one_block_fails", 3, "Duplicate", "dst starts at byte 4", LINES["one_block_fails"])
    assert binary.report()["completed"] is False
    launch(binary, "one_block_fails", blocks=3)  # the next launch starts afresh
    assert binary.report()["completed"] is True


def test_checks_can_be_switched_off(binary, monkeypatch):
    monkeypatch.setenv("ASCEND_CY_SIM_CHECKS", "off")
    for kernel in ("reads_what_nobody_wrote", "computes_before_loaded", "operand_not_aligned", "flag_without_wait"):
        launch(binary, kernel)


@pytest.mark.parametrize("kernel,api", [
    ("sync_all_missed", "SyncAll"), ("signal_never_sent", "IBWait"), ("sync_of_more_cores_than_there_are", "SyncAll"),
    ("group_that_never_arrives", "GroupBarrier::Wait"), ("token_never_passed", "WaitPreBlock"),
])
def test_waiting_for_ever_is_a_deadlock(sync_binary, kernel, api):
    with pytest.raises(simdriver.KernelViolation, match="deadlock") as caught:
        launch(sync_binary, kernel, blocks=4)
    message = str(caught.value)
    assert f": {api} at broken_sync_kernels.cpp:{LINES[kernel]}: " in message


@pytest.mark.parametrize("kernel,api,reason", [
    ("workspace_for_fewer_cores", "SyncAll", "the workspace in UB has 96 bytes, 4 cores need 32 each"),
    ("pair_without_workspace", "IBSet", "the workspace in UB needs 32 bytes"),
])
def test_workspaces_of_waiting_cores(sync_binary, kernel, api, reason):
    with pytest.raises(simdriver.KernelViolation) as caught:
        launch(sync_binary, kernel, blocks=4, threads=1)
    # Every block breaks the rule, and cores that wait for each other run together: the first one to get there is named.
    named = int(re.match(r"\w+: block ([0-3]): ", str(caught.value))[1])
    assert_reported(caught.value, kernel, named, api, reason, LINES[kernel])


def test_flags_between_cores_count_to_15(sync_binary):
    name = next(k.name.decode() for k in sync_binary.kernels() if b"pile_up" in k.name)
    with pytest.raises(simdriver.KernelViolation, match="flag 4 was set more than 15 times without a wait") as caught:
        launch(sync_binary, name)
    assert f"broken_sync_kernels.cpp:{LINES['flags_between_cores_pile_up']}" in str(caught.value)


def test_more_cores_than_a_chip_has(sync_binary):
    kernel = "meets_more_cores_than_a_chip_has"
    launch(sync_binary, kernel, blocks=48)
    with pytest.raises(simdriver.KernelViolation, match="no chip of this kind has more than 24 and 48: deadlock") as caught:
        launch(sync_binary, kernel, blocks=49)
    assert f"{kernel}: block " in str(caught.value) and f"kernels.cpp:{LINES[kernel]}: " in str(caught.value)


def test_a_failure_frees_those_who_wait(sync_binary):
    with pytest.raises(simdriver.KernelViolation) as caught:
        launch(sync_binary, "fails_while_others_wait", blocks=6)
    assert_reported(caught.value, "fails_while_others_wait", 1, "Trap", "stopped itself", LINES["fails_while_others_wait"])


# Kernel -> function, and how the two accesses are called.
RACES = {
    "cores_store_to_the_same_bytes": ("DataCopy", "writes", "writes", "DataCopy"),
    "core_loads_what_another_stores": ("DataCopyPad", "reads|writes", "reads|writes", "DataCopyPad"),
    "core_stores_beside_addition": ("DataCopy", "writes|adds to", "writes|adds to", "DataCopy"),
    "core_signals_too_early": ("DataCopyPad", "reads|writes", "reads|writes", "DataCopyPad"),
    "core_raises_the_flag_of_another_pipe": ("DataCopyPad", "reads|writes", "reads|writes", "DataCopyPad"),
    "core_uses_a_cell_after_the_round": ("DataCopyPad", "reads|writes", "reads|writes", "DataCopyPad"),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kernel", RACES)
def test_cores_that_race_are_named(sync_binary, kernel, threads):
    """Which of the two accesses comes second, and so is named first, is a matter of the threads."""
    api, mine, others, other = RACES[kernel]
    with pytest.raises(simdriver.KernelViolation) as caught:
        launch(sync_binary, kernel, blocks=4, threads=threads)
    assert caught.value.code == VECTOR_EXCEPTION
    found = re.fullmatch(rf"{kernel}: block (\d): {api} at broken_sync_kernels\.cpp:(\d+): (?:src|dst) ({mine}) bytes "
                         rf"(\d+) to (\d+) of a global memory allocation of 256 bytes, which {other} at line (\d+) of block "
                         rf"(\d) ({others}), and nothing orders the two cores", str(caught.value))  # fmt: skip
    assert found, str(caught.value)
    assert found[1] != found[7] and {found[3], found[8]} != {"reads"} and found[3] + found[8] != "adds toadds to"
    marked = {n for n, text in enumerate(SYNC_SOURCE.read_text().splitlines(), 1) if text.endswith(f"// BREAKS {kernel}")}
    assert int(found[2]) in marked or int(found[6]) in marked
    if kernel == "cores_store_to_the_same_bytes":
        assert int(found[5]) - int(found[4]) == 3


@pytest.mark.parametrize("blocks", [4, 20, 48])
@pytest.mark.parametrize("kernel", ["legal_shared_memory", "legal_signals"])
def test_cores_that_share_in_order_pass(sync_binary, kernel, blocks):
    launch(sync_binary, kernel, blocks=blocks)


@pytest.mark.parametrize("blocks", [1, 2, 7, 20, 40, 48])
def test_all_blocks_meet(sync_binary, blocks):
    _, y = launch(sync_binary, "sum_of_all", blocks=blocks)
    assert (y[:blocks] == blocks * (blocks + 1) / 2).all()


@pytest.mark.parametrize("blocks", [1, 2, 7, 20])
def test_blocks_in_order(sync_binary, blocks):
    _, y = launch(sync_binary, "in_block_order", blocks=blocks)
    log = y.view(np.int32)
    assert log[0] == 3 * blocks and log[1 : 1 + 3 * blocks].tolist() == 3 * list(range(blocks))


def test_cube_and_vector_cores(sync_binary):
    desc = next(k for k in sync_binary.kernels() if k.name == b"cube_and_vectors")
    assert (desc.core_kind, desc.instances_per_block) == (3, 3)
    _, y = launch(sync_binary, "cube_and_vectors", blocks=4)
    y = y.view(np.int32)
    assert y[:8].tolist() == [100, 101, 101, 102, 102, 103, 103, 104]
    assert y[24:28].tolist() == [201, 203, 205, 207]
