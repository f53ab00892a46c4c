# SPDX-License-Identifier: Apache-2.0
"""Hosts for the samples whose own host part needs torch, GE, run-time compilation or an operator package.

What is compiled is the sample's kernel text: a file as it is, the part of a file before its host code begins, or the string
that the sample hands to the run-time compiler. Shapes, numbers of blocks and tiling are those of the sample's host.
"""

import re
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "sim"))
import simdriver  # noqa: E402

ADD = 8 * 2048
HOST_HEADERS = re.compile(r'#include\s+["<](?:torch|pybind11|graph|acl)[^\n]*')


@dataclass(frozen=True)
class Launch:
    kernel: str
    operation: str = "add"  # "add", "leaky" or "hello"
    dtype: str = "float32"
    count: int = ADD
    blocks: int = 8
    after: tuple[object, ...] = ()  # arguments behind the tensors: None, int, or bytes of tiling data
    instance: str = ""  # of a kernel template


@dataclass(frozen=True)
class Kernels:
    folder: str
    file: str
    launches: tuple[Launch, ...]
    until: str = ""  # the kernel's part of the file ends before this
    text: bool = False  # the kernel is a string in the file
    flags: tuple[str, ...] = ()
    also: tuple["Kernels", ...] = field(default=())

    @property
    def cases(self) -> str:
        number = len(self.launches) + sum(len(other.launches) for other in self.also)
        return "one" if number == 1 else f"{number} kernels"


def tiling(*numbers: object) -> tuple[object, ...]:
    return None, b"".join(struct.pack("<f" if isinstance(n, float) else "<I", n) for n in numbers)


_HALF = tuple(f"-DDTYPE_{name}=half" for name in "XYZ")
_ACL = "02_features/99_acl_based/00_acl_compilation"
_TORCH = "02_features/00_framework/00_pytorch"
_BYTES = "__gm__ uint8_t *"


def _template(dtype: str, tile: int, split: int) -> Launch:
    c, name = ("half", "float16") if dtype == "half" else ("float", "float32")
    call = f"add_custom_template<{c}, {c}, {c}, {tile}, {split}>"
    # One tile is the whole tensor for a single block; TILE_NUM tiles are spread over 8 blocks.
    count, blocks = (2048, 1) if split == 0 else (ADD, 8)
    return Launch(call, dtype=name, count=count, blocks=blocks, after=tiling(count),
                  instance=f"template __global__ void {call}({', '.join([_BYTES] * 5)});")  # fmt: skip


_OP_ADD = Launch("add_custom", dtype="float16", after=tiling(ADD, 8))
_OP_LEAKY = Launch("leaky_relu_custom", "leaky", after=tiling(ADD, 16, 0.25))

SAMPLES = (
    Kernels(
        "01_utilities/04_profiling/torch_library_report_tensor", "torch_library_report_tensor.asc",
        (Launch("add_custom<half, 8, 2048>", dtype="float16",
                instance="template __global__ void add_custom<half, 8, 2048>(__gm__ half *, __gm__ half *, __gm__ half *);"),),
        until="namespace ascendc_ops {",
    ),
    Kernels(f"{_TORCH}/ge_torchair", "add_custom_kernel.asc", (Launch("ascendc_ops::add_custom"),)),
    Kernels(f"{_TORCH}/pybind", "add_custom.asc", (Launch("add_custom", dtype="float16", after=(ADD,)),),
            until="namespace ascendc_ops {"),
    Kernels(f"{_TORCH}/torch_library", "add_custom.asc", (Launch("add_custom", dtype="float16", after=(ADD,)),),
            until="namespace ascendc_ops {"),
    Kernels(
        "02_features/00_framework/03_ge/triple_chevron_notation", "add_custom.asc",
        (Launch("add_custom<2048>",
                instance="template __global__ void add_custom<2048>(__gm__ float *, __gm__ float *, __gm__ float *);"),),
        until="namespace ge {",
    ),
    Kernels("02_features/05_aclrtc/rtc_hello_world", "rtc_hello_world.cpp", (Launch("hello_world", "hello"),), text=True),
    Kernels(
        "02_features/05_aclrtc/rtc_template_add", "rtc_template_add.cpp",
        (Launch("Kernel::add_custom<float>", count=1024, blocks=1,
                instance="template __global__ void Kernel::add_custom<float>(GM_ADDR, GM_ADDR, GM_ADDR);"),),
        text=True,
    ),
    Kernels(
        f"{_ACL}/custom_op/op_kernel", "add_custom/add_custom_kernel.cpp", (_OP_ADD,), flags=_HALF,
        also=(
            Kernels("", "leaky_relu_custom/leaky_relu_custom_kernel.cpp", (_OP_LEAKY,)),
            Kernels("", "add_custom_tiling_sink/add_custom_tiling_sink_kernel.cpp",
                    (Launch("add_custom_tiling_sink", count=8 * 6 * 8, after=tiling(8 * 6 * 8, 6)),),
                    flags=tuple(f"-DDTYPE_{name}=float" for name in "XYZ")),
            Kernels("", "add_custom_template/add_custom_template.cpp",
                    tuple(_template(dtype, tile, split) for dtype in ("half", "float") for tile, split in ((1, 0), (8, 1)))),
        ),
    ),
    Kernels(f"{_ACL}/custom_op_static_lib/op", "add_custom_kernel.cpp", (_OP_ADD,), flags=_HALF),
    Kernels(f"{_ACL}/parallel_ops_package/add_custom", "add_custom_kernel.cpp", (_OP_ADD,), flags=_HALF),
    Kernels(f"{_ACL}/parallel_ops_package/leaky_relu_custom", "op_kernel/leaky_relu_custom/leaky_relu_custom_kernel.cpp",
            (_OP_LEAKY,)),
)  # fmt: skip


def kernel_text(kernels: Kernels, path: Path) -> str:
    text = path.read_text(encoding="utf-8-sig")
    if kernels.text:
        text = re.search(r'R""""\((.*?)\)""""', text, re.DOTALL)[1]
    if kernels.until:
        text = HOST_HEADERS.sub("", text[: text.index(kernels.until)])
    return "\n".join([text, *(launch.instance for launch in kernels.launches)])


def launch(binary: simdriver.Binary, name: str, what: Launch) -> str:
    """Runs one kernel; why its values are not those of the reference, or an empty string."""
    rng = np.random.default_rng(5)
    tail = [simdriver.Buffer(np.frombuffer(a, np.uint8)) if isinstance(a, bytes) else
            struct.pack("<I", a) if isinstance(a, int) else a for a in what.after]  # fmt: skip
    if what.operation == "hello":
        binary.launch(name, what.blocks)
        return "" if binary.printed.count("Hello World!!!") == what.blocks else f"printed {binary.printed!r}"
    x = rng.uniform(-4, 4, what.count).astype(what.dtype)
    y = rng.uniform(-4, 4, what.count).astype(what.dtype)
    out = simdriver.Buffer(np.zeros(what.count, what.dtype))
    inputs = [simdriver.Buffer(x)] + ([simdriver.Buffer(y)] if what.operation == "add" else [])
    binary.launch(name, what.blocks, *inputs, out, *tail)
    golden = x + y if what.operation == "add" else np.where(x > 0, x, x * np.float32(0.25)).astype(what.dtype)
    return "" if np.array_equal(out.numpy(), golden) else f"{np.sum(out.numpy() != golden)} of {what.count} values differ"


def run(kernels: Kernels, folder: Path) -> tuple[bool, str]:
    whys = []
    for part in (kernels, *kernels.also):
        path = folder / part.file
        try:
            binary = simdriver.Binary(simdriver.build_text(
                path.stem, kernel_text(part, path), flags=("-w", *part.flags), include=(path.parent,)))  # fmt: skip
        except RuntimeError as error:
            return False, next((line for line in str(error).splitlines() if "error:" in line), str(error)[:300])
        names = [k.name.decode() for k in binary.kernels()]
        for name, what in zip(names, part.launches, strict=True):
            try:
                if why := launch(binary, name, what):
                    whys.append(f"{what.kernel}: {why}")
            except simdriver.KernelViolation as error:
                whys.append(f"[violation {error.code}] {error}")
    return True, "; ".join(whys)
