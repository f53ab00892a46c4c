"""Reading and writing .npy files a batch of rows at a time, without mapping them into memory.

A file of shape (..., D) is a sequence of rows of D elements. In C order a batch of rows is one run of bytes.
In Fortran order it is D runs, one a column, and the leading axes are counted in Fortran order too, which is
the same to work on single rows.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import stat
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from types import TracebackType

import numpy as np

from ascend_cy._cli_common import CliError, os_reason

FLOATS = "float32, float16 or bfloat16"

OPEN_FLAGS = os.O_RDWR | os.O_CLOEXEC


@dataclass(frozen=True)
class NpyHeader:
    """What the head of a .npy file says, and where the elements start."""

    shape: tuple[int, ...]
    dtype: np.dtype
    fortran_order: bool
    offset: int

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.dtype.itemsize

    def to_bytes(self) -> bytes:
        """The head of a file that holds such an array."""
        head = io.BytesIO()
        fields = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": self.fortran_order,
            "shape": self.shape,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # NumPy would rather see 2-byte elements with a name
            np.lib.format.write_array_header_1_0(head, fields)
        return head.getvalue()


def read_header(file: io.BufferedReader, path: str) -> NpyHeader:
    """Read the head of a .npy file.

    Raises
    ------
    CliError
        If it is none, or one that was cut off.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
            elif version in ((2, 0), (3, 0)):
                # They differ in the encoding of field names, which no array that we take has.
                shape, fortran_order, dtype = np.lib.format.read_array_header_2_0(file)
            else:
                raise ValueError(f"it has format version {version[0]}.{version[1]}, which is not known")
    except OSError as error:
        raise CliError(f"cannot read {path}: {os_reason(error)}") from error
    except Exception as error:
        # A damaged head is Python text of any kind: NumPy's parser lets a dozen exception types through.
        raise CliError(f"{path} is not a .npy file{hint_on_content(file)}: {error}") from error
    if any(isinstance(side, bool) or side < 0 for side in shape):  # Python's bool is an int, NumPy lets it through
        raise CliError(f"{path} is not a .npy file: its head has the shape {shape}")
    return NpyHeader(shape, dtype, fortran_order, file.tell())


def hint_on_content(file: io.BufferedReader) -> str:
    """What a file that is not .npy seems to be instead."""
    file.seek(0)
    start = file.read(4)
    if start == b"PK\x03\x04":
        return " but an archive (.npz?); save each of its arrays with np.save"
    if not start:
        return ", it is empty"
    return ""


# ---- elements ----


def computing_dtype(header: NpyHeader, path: str, bfloat16: bool) -> np.dtype:
    """The native dtype under which the elements go to the operator.

    Parameters
    ----------
    header, path
        Of the file.
    bfloat16 : bool
        Whether 2-byte elements without a type of their own are bfloat16.

    Raises
    ------
    CliError
        If layernorm does not take them.
    """
    dtype = header.dtype
    if dtype.kind == "f" and dtype.itemsize in (2, 4):
        return dtype.newbyteorder("=")
    bits = dtype.itemsize == 2 and (dtype.kind == "u" or (dtype.kind == "V" and dtype.names is None))
    if bits and bfloat16 and dtype.isnative:
        return bfloat16_dtype()
    if bits and dtype.kind == "V":
        raise CliError(
            f"{path} holds 2-byte elements without a type, as NumPy stores bfloat16: "
            "if that is what they are, add --dtype bfloat16"
        )
    advice = (
        "save the array as .astype(np.float32)" if dtype.kind in "fiub" else "this array cannot be normalized"
    )
    raise CliError(
        f"{path} holds {dtype}, but layernorm takes {FLOATS} and converts nothing by itself: {advice}"
    )


def bfloat16_dtype() -> np.dtype:
    """NumPy's bfloat16, from the optional package ml_dtypes."""
    try:
        import ml_dtypes
    except ImportError:
        raise CliError("--dtype bfloat16 needs the package ml_dtypes: pip install ml_dtypes") from None
    dtype: np.dtype = np.dtype(ml_dtypes.bfloat16)
    return dtype


def bytes_of(array: np.ndarray) -> memoryview:
    """The memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


class RowFile:
    """Rows of an open .npy file.

    Parameters
    ----------
    fd : int
        File descriptor; not closed here.
    path : str
        For messages.
    header : NpyHeader
        At least one axis.
    """

    def __init__(self, fd: int, path: str, header: NpyHeader) -> None:
        self.fd = fd
        self.path = path
        self.header = header
        self.cols = header.shape[-1]
        self.rows = prod(header.shape[:-1])
        self.by_column = header.fortran_order and self.rows > 1 and self.cols > 1
        self._columns = np.empty(0, np.uint8)

    def read(self, start: int, block: np.ndarray) -> None:
        """Fill `block`, contiguous (n, D) in native byte order, with the rows from `start` on."""
        if self.by_column:
            columns = self.columns_for(block)
            for position, run in self.runs(start, columns):
                self.move(read_all, run, position, "read")
            block[...] = columns.T
        else:
            self.move(read_all, bytes_of(block), self.position(start), "read")
        if not self.header.dtype.isnative:
            block.byteswap(inplace=True)

    def write(self, start: int, block: np.ndarray) -> None:
        """Write `block` as the rows from `start` on; the file's dtype must be native."""
        if self.by_column:
            columns = self.columns_for(block)
            columns[...] = block.T
            for position, run in self.runs(start, columns):
                self.move(write_all, run, position, "write")
        else:
            self.move(write_all, bytes_of(block), self.position(start), "write")

    def position(self, row: int) -> int:
        """Byte position of a row in a file in C order."""
        return self.header.offset + row * self.cols * self.header.dtype.itemsize

    def columns_for(self, block: np.ndarray) -> np.ndarray:
        """Memory, used again and again, for a transposed `block`."""
        if self._columns.size < block.nbytes:
            self._columns = np.empty(block.nbytes, np.uint8)
        return self._columns[: block.nbytes].view(block.dtype).reshape(block.shape[::-1])

    def runs(self, start: int, columns: np.ndarray) -> Iterator[tuple[int, memoryview]]:
        """Byte position and memory of each column's part of the rows from `start` on."""
        itemsize = self.header.dtype.itemsize
        memory = bytes_of(columns)
        length = columns.shape[1] * itemsize
        for column in range(self.cols):
            yield (
                self.header.offset + (column * self.rows + start) * itemsize,
                memory[column * length : (column + 1) * length],
            )

    def move(
        self, mover: Callable[[int, memoryview, int], bool], run: memoryview, position: int, verb: str
    ) -> None:
        """Read or write one run of bytes, with errors that name the file."""
        try:
            whole = mover(self.fd, run, position)
        except OSError as error:
            raise CliError(f"cannot {verb} {self.path}: {os_reason(error)}") from error
        if not whole:
            raise CliError(f"{self.path} became shorter while it was read")


def read_all(fd: int, memory: memoryview, position: int) -> bool:
    """Fill `memory` from a file; False where the file ends before."""
    while memory.nbytes:
        count = os.preadv(fd, [memory], position)
        if count == 0:
            return False
        memory = memory[count:]
        position += count
    return True


def write_all(fd: int, memory: memoryview, position: int) -> bool:
    """Write all of `memory`."""
    while memory.nbytes:
        count = os.pwrite(fd, memory, position)
        memory = memory[count:]
        position += count
    return True


# ---- whole files ----


def open_at_once(path: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


class NpySource:
    """A .npy file to read from; a context manager.

    Parameters
    ----------
    path : str
    bfloat16 : bool, default False
        Whether 2-byte elements without a type of their own are bfloat16.

    Attributes
    ----------
    header : NpyHeader
    dtype : numpy.dtype
        Native dtype of the elements.
    rows : RowFile

    Raises
    ------
    CliError
        If there is no such file, or no array in it that layernorm takes.
    """

    def __init__(self, path: str, bfloat16: bool = False) -> None:
        self.path = path
        try:
            self._file = open(path, "rb", opener=open_at_once)  # noqa: SIM115
            status = os.fstat(self._file.fileno())
        except OSError as error:
            raise CliError(f"cannot read {path}: {os_reason(error)}") from error
        try:
            if not stat.S_ISREG(status.st_mode):
                raise CliError(f"{path} is not an ordinary file")
            self.header = read_header(self._file, path)
            self.dtype = computing_dtype(self.header, path, bfloat16)
            self.check_size(status.st_size)
        except BaseException:
            self._file.close()
            raise
        self.rows = RowFile(self._file.fileno(), path, self.header)

    def check_size(self, size: int) -> None:
        """Refuse arrays without axes, and files that end before the last element."""
        shape, dtype = self.header.shape, self.header.dtype
        if not shape:
            raise CliError(
                f"{self.path} holds a single number, an array without axes; layernorm needs at least one axis"
            )
        if size - self.header.offset < self.header.nbytes:
            raise CliError(
                f"{self.path} is truncated: {shape} {dtype} takes {self.header.nbytes} bytes, "
                f"but {max(0, size - self.header.offset)} follow the head"
            )

    def read_vector(self, size: int, name: str) -> np.ndarray:
        """All elements, which must be one axis of `size`; `name` is the option that named the file."""
        if self.header.shape != (size,):
            raise CliError(
                f"{name} {self.path} has shape {self.header.shape}, but it must be ({size},), "
                "the last axis of the input"
            )
        values: np.ndarray = np.empty(size, self.dtype)
        if size:
            self.rows.read(0, values.reshape(1, size))
        return values

    def __enter__(self) -> NpySource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


class NpyTarget:
    """A .npy file that appears under its name whole or not at all; a context manager.

    Until :meth:`commit` it is a file without a name in the folder of `path` where the file system has such
    files, else a hidden ``.NAME.….tmp``. Leaving the context without a commit removes it.

    Parameters
    ----------
    path : str
        A file that is there is replaced by the commit and keeps its mode; a symbolic link is followed.
    like : NpyHeader
        Shape, order and dtype, which is written in native byte order.

    Raises
    ------
    CliError
        If it cannot be made there.
    """

    def __init__(self, path: str, like: NpyHeader) -> None:
        self.path = path
        self._final = os.path.realpath(path)
        self._folder, self._name = os.path.split(self._final)
        self._temporary: str | None = None
        self._fd = -1
        header = replace(like, dtype=like.dtype.newbyteorder("="), offset=0)
        head = header.to_bytes()
        mode = self.mode_of_old()
        try:
            with self.errors():
                self.open()
                if mode is not None:
                    os.fchmod(self._fd, mode)
                write_all(self._fd, memoryview(head), 0)
        except BaseException:
            self.discard()
            raise
        self.rows = RowFile(self._fd, path, replace(header, offset=len(head)))

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Errors of the system as `CliError`."""
        try:
            yield
        except OSError as error:
            raise CliError(f"cannot write {self.path}: {os_reason(error)}") from error

    def mode_of_old(self) -> int | None:
        """Permissions of the file that will be replaced, which must be one that may be written."""
        try:
            status = os.stat(self._final)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CliError(f"cannot write {self.path}: {os_reason(error)}") from error
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "there and not an ordinary file"
            raise CliError(f"cannot write {self.path}: it is {what}")
        if not os.access(self._final, os.W_OK):
            raise CliError(f"cannot write {self.path}: it is there and read-only")
        return stat.S_IMODE(status.st_mode)

    def open(self) -> None:
        """Open a file that vanishes with this process however it ends, or else one with a hidden name."""
        if self.can_name_later():
            self._fd = os.open(self._folder, os.O_TMPFILE | OPEN_FLAGS, 0o666)
        else:
            self._temporary = self.temporary_name()
            self._fd = os.open(self._temporary, os.O_CREAT | os.O_EXCL | OPEN_FLAGS, 0o666)

    def can_name_later(self) -> bool:
        """Whether this file system has files without a name and lets us name them; tried once."""
        self._temporary = self.temporary_name()
        try:
            fd = os.open(self._folder, os.O_TMPFILE | OPEN_FLAGS, 0o666)
            try:
                self.give_name(fd, self._temporary)
                os.unlink(self._temporary)
            finally:
                os.close(fd)
        except OSError:
            return False
        self._temporary = None
        return True

    def give_name(self, fd: int, path: str) -> None:
        """Name an open file without one."""
        # With a folder's descriptor Python calls linkat(), which follows the link in /proc to the file.
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)

    def temporary_name(self) -> str:
        """A name in the same folder, which nobody else uses."""
        return os.path.join(self._folder, f".{self._name[:200]}.{secrets.token_hex(6)}.tmp")

    def commit(self) -> None:
        """Put the file under its name, once all of it is on the disk."""
        with self.errors():
            os.fsync(self._fd)
            if self._temporary is None:
                self._temporary = self.temporary_name()
                self.give_name(self._fd, self._temporary)
            os.replace(self._temporary, self._final)
            self._temporary = None
            sync_folder(self._folder)

    def discard(self) -> None:
        """Close the file, and remove it if it was not committed."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)

    def __enter__(self) -> NpyTarget:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()


def sync_folder(folder: str) -> None:
    """Put a folder's new entry on the disk, where the file system can."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)
