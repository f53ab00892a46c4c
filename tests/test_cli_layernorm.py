# SPDX-License-Identifier: Apache-2.0
"""``ascend-cy layernorm``: values, kinds of files, errors, interruption and memory."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
import stat
import struct
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest
from cli_program import environment, finish, good, peak_mib, refused, start, wait_for
from hypothesis import given
from hypothesis import strategies as st
from layernorm_reference import assert_layernorm, dtype_named

MIB = 1 << 20


def sample(shape, dtype="f4", seed=0):
    """Rows with scales from 1e-3 to 1e3 and means that are not zero."""
    random = np.random.default_rng(seed)
    scale = 10.0 ** random.uniform(-3, 3, (*shape[:-1], 1))
    return (random.normal(2, 1, shape) * scale).astype(dtype)


def save(folder: Path, name: str, array: np.ndarray) -> np.ndarray:
    np.save(folder / name, array)
    return array


def sparse(path: Path, shape: tuple[int, ...], dtype="f4") -> None:
    """A file of zeros that takes no room on the disk."""
    with open(path, "wb") as file:
        head = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, head)
        file.truncate(file.tell() + int(np.prod(shape)) * np.dtype(dtype).itemsize)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ---- values ----


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize(
    "shape", [(5,), (1,), (1, 1), (7, 3), (569, 30), (3, 4, 5), (2, 1, 3, 33), (1000, 64), (2, 100_003)]
)
def test_values(tmp_path, shape, dtype):
    x = save(tmp_path, "x.npy", sample(shape, dtype))
    # The two terms never cancel: if they did, a unit in float16's last place is less than float32 can tell.
    gamma = save(tmp_path, "g.npy", np.linspace(0.5, 1.5, shape[-1], dtype="f4"))
    beta = save(tmp_path, "b.npy", np.linspace(12, 8, shape[-1], dtype="f2"))
    good("layernorm", "x.npy", "y.npy", cwd=tmp_path)
    assert_layernorm(np.load(tmp_path / "y.npy"), x)
    words = ("--gamma", "g.npy", "--beta", "b.npy", "--eps", "0.5")
    good("layernorm", "x.npy", "y.npy", *words, cwd=tmp_path)
    assert_layernorm(np.load(tmp_path / "y.npy"), x, gamma, beta, 0.5)


def test_batches_do_not_matter(tmp_path):
    save(tmp_path, "x.npy", sample((101, 37)))
    for rows in (1, 7, 100, 101, 10**12):
        good("layernorm", "x.npy", f"{rows}.npy", "--batch-rows", rows, cwd=tmp_path)
    assert (
        len({path.read_bytes() for path in tmp_path.glob("1*.npy")} | {(tmp_path / "7.npy").read_bytes()})
        == 1
    )


def test_what_it_prints(tmp_path):
    save(tmp_path, "x.npy", sample((2, 3, 4)))
    assert good("layernorm", "x.npy", "y.npy", cwd=tmp_path).startswith("y.npy: (2, 3, 4) float32, 96 B in ")
    assert good("layernorm", "x.npy", "y.npy", "--quiet", cwd=tmp_path) == ""


def test_progress_bar(tmp_path):
    save(tmp_path, "x.npy", sample((64, 64)))
    done = finish(start("layernorm", "x.npy", "y.npy", "--progress", cwd=tmp_path))
    assert done.returncode == 0
    assert "layernorm: 100%" in done.stderr


def test_progress_bar_on_a_terminal(tmp_path):
    save(tmp_path, "x.npy", sample((64, 64)))
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    process = start("layernorm", "x.npy", "y.npy", cwd=tmp_path, stderr=theirs)
    assert finish(process).returncode == 0
    assert b"layernorm: 100%" in os.read(ours, 4096)
    os.close(theirs)
    os.close(ours)


# ---- kinds of files ----


@pytest.mark.parametrize("dtype", [">f4", ">f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_byte_order(tmp_path, dtype, order):
    x = save(tmp_path, "x.npy", np.asarray(sample((50, 9), dtype), order=order))
    save(tmp_path, "g.npy", sample((9,), ">f4", seed=1))
    good("layernorm", "x.npy", "y.npy", "--gamma", "g.npy", cwd=tmp_path)
    y = np.load(tmp_path / "y.npy")
    assert y.dtype.isnative
    assert_layernorm(y, x, sample((9,), seed=1))


@pytest.mark.parametrize("shape", [(9, 4), (300, 70), (1, 8), (8, 1), (3, 4, 5), (2, 3, 4, 5), (6,)])
@pytest.mark.parametrize("rows", [4, 10**6])
def test_fortran_order(tmp_path, shape, rows):
    x = save(tmp_path, "x.npy", np.asfortranarray(sample(shape)))
    good("layernorm", "x.npy", "y.npy", "--batch-rows", rows, cwd=tmp_path)
    y = np.load(tmp_path / "y.npy")
    assert y.flags.f_contiguous == x.flags.f_contiguous
    assert_layernorm(y, x)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (2, 0, 3), (0, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_no_elements(tmp_path, shape, order):
    save(tmp_path, "x.npy", np.empty(shape, "f2", order=order))
    save(tmp_path, "g.npy", np.ones(shape[-1], "f4"))
    good("layernorm", "x.npy", "y.npy", "--gamma", "g.npy", "--progress", cwd=tmp_path)
    y = np.load(tmp_path / "y.npy")
    assert (y.shape, y.dtype) == (shape, np.float16)


def test_bfloat16(tmp_path):
    bfloat16 = dtype_named("bfloat16")
    x = save(tmp_path, "x.npy", sample((20, 33)).astype(bfloat16))
    gamma = save(tmp_path, "g.npy", np.linspace(0.5, 1.5, 33).astype(bfloat16))
    beta = save(tmp_path, "b.npy", np.linspace(12, 8, 33, dtype="f4"))
    words = ("layernorm", "x.npy", "y.npy", "--gamma", "g.npy", "--beta", "b.npy")
    assert "--dtype bfloat16" in refused(*words, cwd=tmp_path)
    good(*words, "--dtype", "bfloat16", cwd=tmp_path)
    y = np.load(tmp_path / "y.npy")
    assert y.dtype == np.dtype("V2")
    assert_layernorm(y.view(bfloat16), x, gamma, beta)
    save(tmp_path, "x.npy", x.view(np.uint16))
    good(*words, "--dtype", "bfloat16", cwd=tmp_path)
    assert np.load(tmp_path / "y.npy").dtype == np.uint16
    assert np.load(tmp_path / "y.npy").tobytes() == y.tobytes()


@pytest.mark.parametrize("version", [(2, 0), (3, 0)])
def test_later_formats_and_bytes_behind_the_array(tmp_path, version):
    x = sample((4, 5))
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, x, version)
        file.write(b"more")
    good("layernorm", "x.npy", "y.npy", cwd=tmp_path)
    assert_layernorm(np.load(tmp_path / "y.npy"), x)


def test_in_place(tmp_path):
    x = save(tmp_path, "x.npy", sample((40, 50)))
    good("layernorm", "x.npy", "x.npy", "--batch-rows", 7, cwd=tmp_path)
    assert_layernorm(np.load(tmp_path / "x.npy"), x)
    assert names(tmp_path) == {"x.npy"}


def test_output_keeps_mode_and_links(tmp_path):
    save(tmp_path, "x.npy", sample((4, 5)))
    (tmp_path / "there.npy").write_bytes(b"old")
    (tmp_path / "there.npy").chmod(0o640)
    (tmp_path / "link.npy").symlink_to("there.npy")
    good("layernorm", "x.npy", "link.npy", cwd=tmp_path)
    assert (tmp_path / "link.npy").is_symlink()
    assert np.load(tmp_path / "there.npy").shape == (4, 5)
    assert stat.S_IMODE((tmp_path / "there.npy").stat().st_mode) == 0o640
    good("layernorm", "x.npy", "new.npy", cwd=tmp_path, umask=0o027)
    assert stat.S_IMODE((tmp_path / "new.npy").stat().st_mode) == 0o640


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("name", [b"\xff\xfe .npy", "größe 中.npy".encode(), b"-x.npy"])
def test_names_of_any_kind(tmp_path, name, locale):
    x = sample((4, 5))
    with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
        np.save(file, x)
    for words in ((os.fsdecode(name), "out.npy"), ("out.npy", os.fsdecode(name))):
        done = finish(start("layernorm", "--", *words, cwd=tmp_path, env={"LC_ALL": locale}))
        assert (done.returncode, done.stderr) == (0, ""), done
    assert_layernorm(np.load(tmp_path / "out.npy"), x)


# ---- errors ----

BAD = {
    "missing": (["nothing.npy", "old.npy"], "cannot read nothing.npy: No such file"),
    "a folder": (["folder", "old.npy"], "folder: Is a directory"),
    "a pipe": (["pipe", "old.npy"], "pipe is not an ordinary file"),
    "empty": (["empty.npy", "old.npy"], "it is empty"),
    "text": (["text.npy", "old.npy"], "text.npy is not a .npy file"),
    "archive": (["archive.npz", "old.npy"], "archive (.npz?)"),
    "cut in the head": (["head.npy", "old.npy"], "head.npy is not a .npy file"),
    "cut in the data": (
        ["cut.npy", "old.npy"],
        "cut.npy is truncated: (6, 7) float32 takes 168 bytes, but 100",
    ),
    "negative shape": (["negative.npy", "old.npy"], "shape (-6, 7)"),
    "float64": (["double.npy", "old.npy"], "double.npy holds float64, but layernorm takes float32"),
    "integers": (["int.npy", "old.npy"], "int.npy holds int32"),
    "objects": (["object.npy", "old.npy"], "object.npy holds object"),
    "structure": (["structure.npy", "old.npy"], "structure.npy holds ["),
    "no axis": (["scalar.npy", "old.npy"], "at least one axis"),
    "gamma missing": (["x.npy", "old.npy", "--gamma", "nothing.npy"], "cannot read nothing.npy"),
    "gamma shape": (
        ["x.npy", "old.npy", "--gamma", "x.npy"],
        "--gamma x.npy has shape (6, 7), but it must be (7,)",
    ),
    "beta shape": (
        ["x.npy", "old.npy", "--beta", "six.npy"],
        "--beta six.npy has shape (6,), but it must be (7,)",
    ),
    "gamma float64": (["x.npy", "old.npy", "--gamma", "double.npy"], "double.npy holds float64"),
    "eps negative": (["x.npy", "old.npy", "--eps=-1"], "--eps: must be a finite number"),
    "eps NaN": (["x.npy", "old.npy", "--eps", "nan"], "--eps: must be a finite number"),
    "eps infinite": (["x.npy", "old.npy", "--eps", "1e999"], "--eps: must be a finite number"),
    "eps a word": (["x.npy", "old.npy", "--eps", "small"], "--eps: must be a finite number"),
    "no rows": (["x.npy", "old.npy", "--batch-rows", "0"], "--batch-rows: must be an integer, 1 or larger"),
    "half a row": (
        ["x.npy", "old.npy", "--batch-rows", "0.5"],
        "--batch-rows: must be an integer, 1 or larger",
    ),
    "no such kind": (["x.npy", "old.npy", "--device", "gpu"], "--device: must be one of auto, cpu, sim, npu"),
    "no such number": (["x.npy", "old.npy", "--device", "cpu:7"], "--device cpu:7: there are 1 devices"),
    "no CANN": (["x.npy", "old.npy", "--device", "npu"], "no NPU can be used: source CANN's set_env.sh"),
    "no output": (["x.npy"], "required: OUT.npy"),
    "output folder missing": (["x.npy", "no/y.npy"], "cannot write no/y.npy: No such file or directory"),
    "output is a folder": (["x.npy", "folder"], "cannot write folder: it is a folder"),
    "output is a device": (
        ["x.npy", "/dev/null"],
        "cannot write /dev/null: it is there and not an ordinary file",
    ),
    "output below a file": (["x.npy", "x.npy/y.npy"], "cannot write x.npy/y.npy: Not a directory"),
    "output name too long": (["x.npy", "y" * 300], "File name too long"),
}


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    x = save(folder, "x.npy", sample((6, 7)))
    whole = (folder / "x.npy").read_bytes()
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "empty.npy").touch()
    (folder / "text.npy").write_text("1,2,3\n" * 100)
    (folder / "head.npy").write_bytes(whole[:50])
    (folder / "cut.npy").write_bytes(whole[:-68])
    (folder / "negative.npy").write_bytes(whole.replace(b"(6, 7), }  ", b"(-6, 7), } "))
    np.savez(folder / "archive.npz", x=x)
    save(folder, "double.npy", x.astype(float))
    save(folder, "int.npy", x.astype("i4"))
    np.save(folder / "object.npy", np.array([{}, []], object))
    save(folder, "structure.npy", np.zeros(3, [("a", "f4"), ("b", "f4")]))
    save(folder, "scalar.npy", np.float32(3))
    save(folder, "six.npy", x[:, 0])
    (folder / "old.npy").write_bytes(b"what was there")
    return folder


@pytest.mark.parametrize("case", BAD)
def test_bad_input(bad_files, case):
    words, message = BAD[case]
    before = names(bad_files)
    assert message in refused("layernorm", *words, cwd=bad_files)
    assert (bad_files / "old.npy").read_bytes() == b"what was there"
    assert names(bad_files) == before


def test_device_in_the_environment(bad_files):
    message = refused("layernorm", "x.npy", "y.npy", cwd=bad_files, env={"ASCEND_CY_DEVICE": "gpu"})
    assert 'ASCEND_CY_DEVICE is "gpu"' in message
    good("layernorm", "x.npy", "y.npy", "--device", "cpu", cwd=bad_files, env={"ASCEND_CY_DEVICE": "gpu"})
    (bad_files / "y.npy").unlink()


def test_one_of_several_devices(bad_files):
    several = {"ASCENDCL_CPU_DEVICES": "3"}
    good("layernorm", "x.npy", "y.npy", "--device", "cpu:2", cwd=bad_files, env=several)
    (bad_files / "y.npy").unlink()


def obey_permissions():
    """Before a program starts: even root's may not pass over permissions (drops two capabilities)."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def test_no_permission(tmp_path):
    save(tmp_path, "x.npy", sample((4, 5)))
    (tmp_path / "there.npy").write_bytes(b"old")
    (tmp_path / "there.npy").chmod(0o400)
    as_user = {"cwd": tmp_path, "preexec_fn": obey_permissions}
    assert "cannot write there.npy: it is there and read-only" in refused(
        "layernorm", "x.npy", "there.npy", **as_user
    )
    tmp_path.chmod(0o500)
    assert "cannot write y.npy: Permission denied" in refused("layernorm", "x.npy", "y.npy", **as_user)
    (tmp_path / "x.npy").chmod(0)
    assert "cannot read x.npy: Permission denied" in refused("layernorm", "x.npy", "y.npy", **as_user)
    tmp_path.chmod(0o700)
    assert (tmp_path / "there.npy").read_bytes() == b"old"


def test_file_size_limit(tmp_path):
    save(tmp_path, "x.npy", sample((1000, 100)))
    (tmp_path / "old.npy").write_bytes(b"what was there")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    for name in ("y.npy", "old.npy"):
        message = refused("layernorm", "x.npy", name, "--batch-rows", 10, cwd=tmp_path, preexec_fn=limit)
        assert f"cannot write {name}: File too large" in message
    assert names(tmp_path) == {"x.npy", "old.npy"}
    assert (tmp_path / "old.npy").read_bytes() == b"what was there"


def test_disk_full(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1M", "none", str(small)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a full disk needs the right to mount one")
    try:
        save(tmp_path, "x.npy", sample((1000, 1000)))
        assert "cannot write small/y.npy: No space left" in refused(
            "layernorm", "x.npy", "small/y.npy", cwd=tmp_path
        )
        assert names(small) == set()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_kernel_that_fails(tmp_path):
    save(tmp_path, "x.npy", sample((100, 100)))
    env = {"ASCENDCL_CPU_FAULT": "kernel=*,at=3"}
    message = refused("layernorm", "x.npy", "y.npy", "--batch-rows", 10, cwd=tmp_path, env=env)
    assert "507015" in message
    assert names(tmp_path) == {"x.npy"}


def test_not_enough_memory(tmp_path):
    sparse(tmp_path / "x.npy", (2, 1 << 40))

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

    assert "memory" in refused("layernorm", "x.npy", "y.npy", cwd=tmp_path, preexec_fn=limit)
    assert names(tmp_path) == {"x.npy"}


# ---- the files' own module ----


@pytest.fixture
def npy():
    from ascend_cy import _cli_npy

    return _cli_npy


def header(npy, shape):
    return npy.NpyHeader(shape, np.dtype("f4"), False, 0)


@pytest.mark.parametrize("nameless", [True, False])
def test_temporary_file(tmp_path, npy, nameless, monkeypatch):
    if not nameless:
        monkeypatch.setattr(npy.NpyTarget, "can_name_later", lambda self: False)
    path = tmp_path / "y.npy"
    path.write_bytes(b"old")
    with npy.NpyTarget(str(path), header(npy, (2, 3))) as target:
        assert len(names(tmp_path)) in (1, 2)
        target.rows.write(0, np.ones((2, 3), "f4"))
    assert path.read_bytes() == b"old" and names(tmp_path) == {"y.npy"}
    with npy.NpyTarget(str(path), header(npy, (2, 3))) as target:
        target.rows.write(0, np.ones((2, 3), "f4"))
        target.commit()
    assert np.load(path).tolist() == [[1, 1, 1], [1, 1, 1]] and names(tmp_path) == {"y.npy"}


@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("call", ["fsync", "replace", "link", "fchmod", "pwrite"])
def test_each_step_may_fail(tmp_path, npy, nameless, call, monkeypatch):
    if not nameless:
        monkeypatch.setattr(npy.NpyTarget, "can_name_later", lambda self: False)
        if call == "link":
            return
    path = tmp_path / "y.npy"
    path.write_bytes(b"old")

    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def make():
        with npy.NpyTarget(str(path), header(npy, (2, 3))) as target:
            if call in ("link", "fsync", "replace"):
                monkeypatch.setattr(os, call, fail)
            target.rows.write(0, np.ones((2, 3), "f4"))
            target.commit()

    if call in ("fchmod", "pwrite"):
        monkeypatch.setattr(os, call, fail)
    with pytest.raises(npy.CliError, match=r"cannot write .*y\.npy: No space left on device"):
        make()
    monkeypatch.undo()
    assert path.read_bytes() == b"old" and names(tmp_path) == {"y.npy"}


def test_input_becomes_shorter(tmp_path, npy):
    save(tmp_path, "x.npy", sample((10, 10)))
    with npy.NpySource(str(tmp_path / "x.npy")) as source:
        os.truncate(tmp_path / "x.npy", 300)
        with pytest.raises(npy.CliError, match="became shorter"):
            source.rows.read(0, np.empty((10, 10), "f4"))


def test_short_reads_and_writes(tmp_path, npy, monkeypatch):
    x = save(tmp_path, "x.npy", sample((10, 10)))
    preadv, pwrite = os.preadv, os.pwrite
    monkeypatch.setattr(os, "preadv", lambda fd, memory, at: preadv(fd, [memory[0][:7]], at))
    monkeypatch.setattr(os, "pwrite", lambda fd, memory, at: pwrite(fd, memory[:5], at))
    block = np.empty((10, 10), "f4")
    with npy.NpySource(str(tmp_path / "x.npy")) as source:
        source.rows.read(0, block)
        with npy.NpyTarget(str(tmp_path / "y.npy"), source.header) as target:
            target.rows.write(0, block)
            target.commit()
    assert (tmp_path / "y.npy").read_bytes() == (tmp_path / "x.npy").read_bytes()
    assert np.array_equal(block, x)


@given(st.data())
def test_damaged_heads(tmp_path, npy, data):
    """Whatever the head is turned into, it is an array that can be read or a CliError."""
    whole = bytearray((tmp_path / "x.npy").read_bytes() if (tmp_path / "x.npy").exists() else b"")
    if not whole:
        save(tmp_path, "x.npy", sample((3, 4)))
        whole = bytearray((tmp_path / "x.npy").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, 79))] = data.draw(
            st.sampled_from(b"\0\n '\"(){}[],:<>|0123456789afVO\xff")
        )
    (tmp_path / "damaged.npy").write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        with npy.NpySource(str(tmp_path / "damaged.npy")) as source:
            assert source.rows.rows * source.rows.cols <= 12
    except npy.CliError as error:
        assert "damaged.npy" in str(error)


@pytest.mark.parametrize("shape", ["(True, 4)", "(3, False)", "(-1, 4)", "(3, 4.0)"])
def test_heads_with_a_shape_that_cannot_be(tmp_path, npy, shape):
    """Python takes a bool for an integer, and so does NumPy's reader."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head = head.ljust(128 - 11) + "\n"
    (tmp_path / "odd.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(64))
    with pytest.raises(npy.CliError, match="odd.npy is not a .npy file"):
        npy.NpySource(str(tmp_path / "odd.npy"))


# ---- interruption ----

# A program whose temporary file has a name, as on file systems without nameless ones.
NAMED = (
    "import sys; from ascend_cy import _cli_npy, cli; "
    "_cli_npy.NpyTarget.can_name_later = lambda self: False; sys.exit(cli.main())"
)


def start_long_run(folder: Path, named: bool) -> subprocess.Popen:
    """Normalize a file that takes many seconds, and return when it is well under way."""
    sparse(folder / "x.npy", (1 << 21, 256))
    (folder / "old.npy").write_bytes(b"what was there")
    words = ["layernorm", "x.npy", "old.npy", "--batch-rows", "2", "--progress"]
    command = [sys.executable, "-c", NAMED, *words]
    if named:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    else:
        process = start(*words, cwd=folder)
    os.set_blocking(process.stderr.fileno(), False)
    seen = b""

    def under_way() -> bool:
        nonlocal seen
        assert process.poll() is None, seen
        try:
            seen += os.read(process.stderr.fileno(), 4096)
        except BlockingIOError:
            return False
        return seen.count(b"layernorm:") >= 3

    wait_for(under_way, "the progress bar")
    os.set_blocking(process.stderr.fileno(), True)
    return process


@pytest.mark.parametrize("named", [False, True], ids=["nameless", "named"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_interruption(tmp_path, number, named):
    process = start_long_run(tmp_path, named)
    process.send_signal(number)
    done = finish(process)
    assert done.returncode == 128 + number
    word = {signal.SIGINT: "interrupted"}.get(number, f"ended by {number.name}")
    assert done.stderr.splitlines()[-1] == f"ascend-cy: error: {word}"
    assert "Traceback" not in done.stderr
    assert names(tmp_path) == {"x.npy", "old.npy"}
    assert (tmp_path / "old.npy").read_bytes() == b"what was there"


def test_kill(tmp_path):
    """Who is killed cannot clean up; a file without a name, where there are such, goes all the same."""
    process = start_long_run(tmp_path, named=False)
    process.kill()
    finish(process)
    assert (tmp_path / "old.npy").read_bytes() == b"what was there"
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        return
    assert names(tmp_path) == {"x.npy", "old.npy"}


# ---- memory ----


def test_memory(tmp_path):
    """The resident memory does not grow with the file."""
    sparse(tmp_path / "x.npy", (600 * 256, 1024))
    assert peak_mib("layernorm", "x.npy", "y.npy", cwd=tmp_path) < 250
    y = np.load(tmp_path / "y.npy", mmap_mode="r")
    assert y.shape == (600 * 256, 1024) and not y[::1000].any()


@pytest.mark.slow
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_of_2_gib(tmp_path, order):
    columns, rows = 1024, 1 << 19
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (rows, columns), order == "F")
    part = sample((1 << 12, columns))
    for start_row in range(0, rows, 1 << 12):
        x[start_row : start_row + (1 << 12)] = part
    del x
    assert peak_mib("layernorm", "x.npy", "y.npy", cwd=tmp_path) < 400
    y = np.load(tmp_path / "y.npy", mmap_mode="r")
    for start_row in (0, 77 << 12, rows - (1 << 12)):
        assert_layernorm(np.ascontiguousarray(y[start_row : start_row + (1 << 12)]), part)
