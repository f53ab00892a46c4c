# SPDX-License-Identifier: Apache-2.0
"""The `cpu` kernels of matmul and vector_add without a device; their launchers through the C interface."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import child
import embedded
import numpy as np
import pytest

import ascend_cy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KERNELS = Path(ascend_cy.get_library_dir()) / "kernels" / "cpu"
INVALID_PARAM = 100000

# What /proc/cpuinfo says of a machine that has the level; nothing for levels that every machine has.
LEVEL_FLAGS = {
    "x86-64-v3": {"avx2", "fma", "f16c", "bmi2", "movbe", "abm"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}


def binaries(op: str) -> list[Path]:
    flags = set(Path("/proc/cpuinfo").read_text().split())
    found = sorted(KERNELS.glob(f"{op}.*.so"))
    return [file for file in found if LEVEL_FLAGS.get(file.name[len(op) + 1 : -3], set()) <= flags]


@pytest.fixture(scope="session")
def run_program(tmp_path_factory):
    """Compiles a C++ test once and runs it on a kernel binary."""
    folder = tmp_path_factory.mktemp("kernels_matmul")

    def run(name: str, binary: Path) -> None:
        program = folder / name
        if not program.exists():
            includes = [f"-I{ROOT / part}" for part in ("kernels", "kernels/layernorm", "csrc/include")]
            subprocess.run(
                [
                    *embedded.compiler(),
                    "-std=c++17",
                    "-O2",
                    *includes,
                    str(HERE / "c" / "kernels_matmul" / f"{name}.cpp"),
                    "-o",
                    str(program),
                    "-ldl",
                    "-lpthread",
                ],
                check=True,
                timeout=120,
            )
        done = subprocess.run([str(program), str(binary)], text=True, capture_output=True, timeout=250)
        assert done.returncode == 0, done.stdout + done.stderr

    return run


def test_every_level_is_built():
    assert binaries("matmul") and binaries("vector_add"), f"no kernel binaries in {KERNELS}"


@pytest.mark.parametrize("binary", binaries("vector_add"), ids=lambda file: file.stem)
def test_vector_add_kernels(run_program, binary):
    run_program("test_vector_add", binary)


@pytest.mark.parametrize("binary", binaries("matmul"), ids=lambda file: file.stem)
def test_matmul_kernels(run_program, binary):
    run_program("test_matmul", binary)


# ---- launchers ----


class Matrices(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("batch_stride", ctypes.c_int64),
        ("row_stride", ctypes.c_int64),
        ("col_stride", ctypes.c_int64),
    ]


@pytest.fixture(scope="module")
def host():
    if embedded.kind() != "cpu":
        pytest.skip("needs the cpu device: host pointers are device pointers")
    library = ctypes.CDLL(str(Path(ascend_cy.get_library_dir()) / "libascend_cy.so"))
    library.ascend_cy_last_message.restype = ctypes.c_char_p
    library.ascend_cy_vector_add.argtypes = [ctypes.c_void_p] * 3 + [
        ctypes.c_int64,
        ctypes.c_int,
        ctypes.c_void_p,
    ]
    library.ascend_cy_matmul.argtypes = (
        [ctypes.POINTER(Matrices)] * 2
        + [ctypes.c_void_p]
        + [ctypes.c_int64] * 6
        + [ctypes.c_int, ctypes.c_void_p]
    )
    return library


def address(array: np.ndarray | None, offset: int = 0) -> int | None:
    return None if array is None else array.ctypes.data + offset * array.itemsize


def matrices(array: np.ndarray | None) -> Matrices:
    """Of the last two axes; a batch where there are three."""
    if array is None:
        return Matrices(None, 0, 0, 0)
    strides = [step // array.itemsize for step in array.strides]
    return Matrices(array.ctypes.data, strides[0] if array.ndim == 3 else 0, strides[-2], strides[-1])


CODES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1, np.dtype(np.int32): 3}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
@pytest.mark.parametrize("n", [1, 1000, 300_000])
def test_vector_add(host, dtype, n):
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-1000, 1000, n).astype(dtype) for _ in range(2))
    y = np.full_like(a, 77)
    assert host.ascend_cy_vector_add(address(a), address(b), address(y), n, CODES[y.dtype], None) == 0
    ascend_cy.synchronize()
    assert np.array_equal(y, a + b)
    assert (
        host.ascend_cy_vector_add(address(y), address(b), address(y), n, CODES[y.dtype], None) == 0
    )  # in place
    ascend_cy.synchronize()
    assert np.array_equal(y, (a + b) + b)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(dtype=0x7F), "dtype is 127"),
        (dict(dtype=11), "dtype is 11"),  # float64 is not converted
        (dict(n=-1), "n is -1"),
        (dict(a=None), "a is NULL"),
        (dict(b=None), "b is NULL"),
        (dict(y=None), "y is NULL"),
        (dict(n=1 << 62), "larger than any memory"),
        (dict(y="a", offset=1), "y overlaps a without being the same"),
        (dict(y="b", offset=-1), "y overlaps b without being the same"),
    ],
)
def test_vector_add_refuses(host, change, message):
    arrays = {name: np.zeros(12, np.float32) for name in "aby"}
    pointers = {name: address(array, 1) for name, array in arrays.items()}
    for name in "ab":
        if name in change:
            pointers[name] = None
    if "y" in change:
        pointers["y"] = None if change["y"] is None else pointers[change["y"]] + 4 * change["offset"]
    with embedded.counted_calls() as calls:
        assert (
            host.ascend_cy_vector_add(
                pointers["a"], pointers["b"], pointers["y"], change.get("n", 10), change.get("dtype", 0), None
            )
            == INVALID_PARAM
        )
        assert calls() == 0
    assert message in host.ascend_cy_last_message().decode()


def test_vector_add_of_nothing(host):
    assert host.ascend_cy_vector_add(None, None, None, 0, 0, None) == 0


def product(host, a, b, c, dtype=None) -> int:
    """c = a @ b through the launcher; arrays of two or three axes."""
    batch = max([array.shape[0] for array in (a, b, c) if array.ndim == 3], default=1)
    target = matrices(c)
    (m, k), n = a.shape[-2:], b.shape[-1]
    return host.ascend_cy_matmul(
        matrices(a),
        matrices(b),
        address(c),
        target.row_stride,
        target.batch_stride,
        batch,
        m,
        n,
        k,
        CODES[c.dtype] if dtype is None else dtype,
        None,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (3, 50, 20), (300, 200, 100), (33, 2, 9), (8, 8, 0)])
def test_matmul(host, dtype, m, n, k):
    rng = np.random.default_rng(m)
    for variant in range(4):
        a = rng.integers(-4, 5, (k, m) if variant & 1 else (m, k)).astype(dtype)
        b = rng.integers(-4, 5, (n, k) if variant & 2 else (k, n)).astype(dtype)
        a = a.T if variant & 1 else a
        b = b.T if variant & 2 else b
        if variant == 3 and k:
            a = a[::-1, ::-1]  # negative strides
        c = np.full((m, n), np.nan, dtype)
        assert product(host, a, b, c) == 0
        ascend_cy.synchronize()
        assert np.array_equal(c, (a.astype(np.float64) @ b.astype(np.float64)).astype(dtype))


def test_matmul_of_a_batch(host):
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (5, 20, 30)).astype(np.float32)
    b = rng.integers(-4, 5, (30, 40)).astype(np.float32)  # one for all
    wide = np.full((5, 22, 44), 7, np.float32)
    c = wide[:, 1:21, 2:42]
    assert product(host, a, b, c) == 0
    ascend_cy.synchronize()
    assert np.array_equal(c, a @ b)
    c[...] = 7
    assert (wide == 7).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(dtype=3), "dtype is 3"),
        (dict(m=-1), "sizes are not negative"),
        (dict(batch=-1), "sizes are not negative"),
        (dict(a=None), "a is NULL"),
        (dict(b=None), "b is NULL"),
        (dict(c=None), "c is NULL"),
        (dict(c_row_stride=3), "c_row_stride is 3; rows of c have 4 elements"),
        (dict(c_row_stride=-4), "c_row_stride is -4"),
        (dict(batch=2, c_batch_stride=11), "c_batch_stride is 11; a matrix of c spans 12 elements"),
        (dict(m=1 << 40, c_row_stride=1 << 40), "c with these sizes and strides is larger"),
        (dict(k=1 << 62), "a with these sizes and strides is larger"),
        (dict(c="a"), "c overlaps a"),
        (dict(c="b"), "c overlaps b"),
    ],
)
def test_matmul_refuses(host, change, message):
    arrays = dict(a=np.zeros(12, np.float32), b=np.zeros(20, np.float32), c=np.zeros(24, np.float32))
    a, b = (
        Matrices(address(arrays["a"]), 0, 1 << 40 if "k" in change else 5, 1),
        Matrices(address(arrays["b"]), 0, 4, 1),
    )
    for name, matrix in (("a", a), ("b", b)):
        if name in change:
            matrix.data = None
    c = change.get("c", "c")
    with embedded.counted_calls() as calls:
        assert (
            host.ascend_cy_matmul(
                a,
                b,
                None if c is None else address(arrays[c]) + (4 if c != "c" else 0),
                change.get("c_row_stride", 4),
                change.get("c_batch_stride", 12),
                change.get("batch", 1),
                change.get("m", 3),
                4,
                change.get("k", 2),
                change.get("dtype", 0),
                None,
            )
            == INVALID_PARAM
        )
        assert calls() == 0
    assert message in host.ascend_cy_last_message().decode()


def test_matmul_of_nothing(host):
    none = Matrices(None, 0, 0, 0)
    for batch, m, n in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        assert host.ascend_cy_matmul(none, none, None, 0, 0, batch, m, n, 3, 0, None) == 0
    c = np.full((2, 3), np.nan, np.float32)  # an empty sum is 0
    assert host.ascend_cy_matmul(none, none, address(c), 3, 6, 1, 2, 3, 0, 0, None) == 0
    ascend_cy.synchronize()
    assert (c == 0).all()


def test_a_target_without_a_matmul_kernel(tmp_path):
    """Where a target has no kernel, the launch says what was looked for."""
    child.check(
        """
        import ctypes
        from pathlib import Path

        import ascend_cy

        host = ctypes.CDLL(str(Path(ascend_cy.get_library_dir()) / "libascend_cy.so"))
        host.ascend_cy_last_message.restype = ctypes.c_char_p
        memory = (ctypes.c_float * 3)()
        one = (ctypes.c_int64 * 4)(ctypes.addressof(memory), 0, 1, 1)
        two = (ctypes.c_int64 * 4)(ctypes.addressof(memory) + 4, 0, 1, 1)
        c = ctypes.c_void_p(ctypes.addressof(memory) + 8)
        code = host.ascend_cy_matmul(one, two, c, *[ctypes.c_int64(1)] * 6, 0, None)
        message = host.ascend_cy_last_message().decode()
        assert code != 0 and "there is no matmul kernel" in message, (code, message)
        assert "sim/matmul.so" in message, message
        """,
        tmp_path,
        env={"ASCEND_CY_DEVICE": "sim", "PYTHONPATH": child.package_without(tmp_path, "kernels/sim/matmul.so")},
    )
