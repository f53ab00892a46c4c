# SPDX-License-Identifier: Apache-2.0
"""The official client programs that an AscendCL on the CPU can be asked to run, and how to judge them.

A program ends as its text says when its own script exits with 0, every line of the sample output in its README
appears, and no line reports an error, failure or skip that the README does not show. What is listed here is only
where a README cannot be taken at its word.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    folder: str
    kernels: bool = False  # needs kernels of ours in place of the vendor's
    arguments: tuple[str, ...] = ()  # for its script
    # Calls functions that are younger than the headers in general use: built with those of the checkout it comes from.
    own_headers: bool = False
    # Lines of the README read differently: (start of the line, the pattern to look for instead; None drops it).
    instead: tuple[tuple[str, str | None], ...] = ()
    more: tuple[str, ...] = ()  # patterns that must appear too
    may: tuple[str, ...] = ()  # patterns of lines with an error that the README leaves out
    ordered: bool = True  # threads of the program write their lines in any order


_BASIC = "1_basic_features"
_ADVANCED = "2_advanced_features"

PROGRAMS = (
    Program("0_quickstart/1_error_handling", more=(r"Diagnostics: ret=[1-9]\d*, .*recentErrMsg=(?!<null>)",)),
    Program(
        "0_quickstart/2_system_info",
        # An example of another release.
        instead=(
            ("[INFO] CANN package [runtime] version string", r"version string: \d+\.\d+\.\d+"),
            ("[INFO] CANN package [runtime] version number", r"version number: [1-9]\d{6,}"),
        ),
    ),
    Program(
        "0_quickstart/3_cross_version/0_runtime_compatibility",
        # Depend on the product and the release.
        instead=(
            ("[INFO] CANN package [runtime] version string", r"version string: \d+\.\d+\.\d+"),
            ("[INFO] CANN package [runtime] version number", r"version number: [1-9]\d{6,}"),
            # Only attributes that are supported are listed; there are no operators to compile here.
            ("[INFO] CANN attribute count", r"CANN attribute count: [1-3]$"),
            ("[INFO] CANN attribute ACL_CANN_ATTR_JIT", None),
            ("[INFO] Architecture compatibility", r"Architecture compatibility for Ascend\w+: 1"),
            ("[INFO] Device capability", r"Device capability \w+: [01]"),
        ),
    ),
    Program("0_quickstart/4_custom_kernel_launch", kernels=True),
    Program(f"{_BASIC}/context/0_context_query"),
    Program(
        f"{_BASIC}/device/1_device_multi_thread",
        kernels=True,
        # Depend on the product.
        instead=(
            ("[INFO] Current Ascend chipset", r"chipset platform is: Ascend\w+\."),
            ("[INFO] Get device count", r"deviceCount: [1-9]\d*\."),
        ),
    ),
    Program(f"{_BASIC}/device/2_device_P2P"),
    Program(f"{_BASIC}/event/0_event_status", kernels=True),
    Program(
        f"{_BASIC}/event/1_event_timestamp",
        kernels=True,
        # The program's second task is a long one and says so.
        instead=(("[INFO] Begin a short task.", r"Begin a (short|long) task\."),),
    ),
    Program(f"{_BASIC}/memory/0_h2h_memory_copy"),
    *(
        # What a kernel prints comes when the device hands it over, not when the program prints.
        Program(f"{_BASIC}/memory/{name}_memory_copy", kernels=True, ordered=False)
        for name in ("1_h2d_sync", "2_h2d_async", "3_d2h_sync", "4_d2h_async", "5_d2d_sync", "6_d2d_async")
    ),
    Program(f"{_BASIC}/memory/9_multistream_sync_memory", ordered=False),
    Program(f"{_BASIC}/stream/0_simple_stream", kernels=True),
    Program(
        f"{_BASIC}/stream/1_stream_with_failure_mode",
        kernels=True,
        # 507000 in the README, and the program takes any code. In the vendor's source of the same state a wait for
        # a stream of this kind (ACL_STREAM_DEVICE_USE_ONLY) returns 0 at once.
        instead=(("[WARN] aclrtSynchronizeStream(after stop)", r"aclrtSynchronizeStream\(after stop\) returned 0\."),),
        # By that source such a stream takes no kernel from the host (507000). The program ignores what its launch returns; the
        # wrapper of ours says it.
        may=(r"the launch of LongOPf failed with 507000",),
    ),
    Program(
        f"{_BASIC}/stream/2_multi_stream",
        kernels=True,
        # The README cuts the second of three parts, where a wait for an event times out.
        more=(r"aclrtSynchronizeEventWithTimeout\(.*\) returned error code 507047",),
        may=(r"aclrtSynchronizeEventWithTimeout\(.*\) returned error code 507047",),
    ),
    Program(
        f"{_BASIC}/stream/3_stream_config_query",
        instead=(("[INFO] Stream id", r"Stream id: \d+"),),  # any number is right
    ),
    Program(f"{_ADVANCED}/built_in_task/0_reduce_task"),
    Program(f"{_ADVANCED}/built_in_task/1_random_num_task"),
    Program(f"{_ADVANCED}/callback/0_simple_callback", kernels=True, ordered=False),
    Program(f"{_ADVANCED}/callback/1_callback_hostfunc", kernels=True),
    Program(
        f"{_ADVANCED}/callback/2_callback_exception",
        kernels=True,
        ordered=False,
        may=(r"Post synchronize diagnostics runtime diagnostics:",),
    ),
    # The README has the two files whose sums are printed in the other order.
    Program(f"{_ADVANCED}/kernel/0_launch_kernel", kernels=True, ordered=False),
    Program(f"{_ADVANCED}/kernel/1_launch_kernel_with_reslimit", kernels=True),
    Program(f"{_ADVANCED}/label/0_simple_label"),
    Program(
        f"{_ADVANCED}/model_ri/4_model_sync_external",  # its README shows no output
        own_headers=True,
        more=(
            r"Scenario 1: ",
            r"Check result success",
            r"Scenario 2: ",
            r"Check result success",
            r"Scenario 3: ",
            r"Check result success",
        ),
    ),
    Program(
        "3_memory_advanced/allocator/0_custom_allocator",
        # The program prints no commas.
        instead=(("[INFO] Allocator desc queried", r"desc queried: descOut=\w+,? allocCount=2,? freeCount=2"),),
    ),
    Program(
        "3_memory_advanced/host_register/0_simple_zero_copy",
        kernels=True,
        instead=(("[INFO]: Current compile soc version", r"compile soc version is Ascend\w+"),),  # the product
    ),
    Program("3_memory_advanced/managed_memory/0_uvm_allocate", kernels=True, ordered=False),  # as above
    Program("4_reliability/overflow_detection/0_overflow_detection"),
    Program("tools/get_soc_version", more=(r"^Ascend\w+$",)),
)

# More ways to run a program of the list; reported, but not counted.
VARIANTS = (
    Program(
        f"{_ADVANCED}/kernel/0_launch_kernel",
        kernels=True,
        arguments=("--run-mode", "placeholder"),
        ordered=False,
        instead=(("[INFO] Kernel launch sample runs", r"Kernel launch sample runs in placeholder mode\."),),
    ),
)
