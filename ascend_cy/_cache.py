"""The cache of compiled kernels: a folder of the user's, safe for many processes and for network file systems.

An entry is a pair of files: ``<key>.bin``, the binary, and ``<key>.json``, which says what it was made from and what its
digest is. Each is written under a private name and renamed, the json last, so that a reader sees whole entries or none. A lock
keeps others from doing the same work at the same time; where a file system has no locks, work is done twice, and nothing breaks.
Where nothing can be written, kernels are compiled anew in every process, and a warning says so.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CacheEntry", "cache_folder", "clear", "entries", "find_or_make"]

FORMAT = 2
# Files of the system and of the package are taken as unchanged while size and time of change are the same.
TRUSTED = ("/usr/", "/opt/", str(Path(__file__).resolve().parent) + "/")


def cache_folder() -> Path:
    """Where compiled kernels are kept: below ``ASCEND_CY_CACHE_DIR``, else ``XDG_CACHE_HOME``, else ``~/.cache``.

    Raises
    ------
    RuntimeError
        If none of them is known.
    """
    if root := os.environ.get("ASCEND_CY_CACHE_DIR"):
        return Path(root) / "modules"
    if root := os.environ.get("XDG_CACHE_HOME"):
        return Path(root) / "ascend_cy" / "modules"
    try:
        return Path.home() / ".cache" / "ascend_cy" / "modules"
    except RuntimeError:
        raise RuntimeError("no folder for compiled kernels: set ASCEND_CY_CACHE_DIR or HOME") from None


class NotPrivateError(PermissionError):
    """Somebody else could write what would be run."""


def private_folder(path: Path) -> Path:
    """Make a folder that only this user may write to.

    Raises
    ------
    PermissionError
        If it is there and somebody else owns it or may write to it: what is in it would be run.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.stat()
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotPrivateError(
            f"{path} is not private (owner {status.st_uid}, mode {stat.S_IMODE(status.st_mode):o}), and what is in it would be "
            "run: chmod go-w it, or set ASCEND_CY_CACHE_DIR to a folder of your own"
        )
    return path


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def stamp(path: str) -> dict[str, Any]:
    """What a file that went into a binary looks like."""
    status = os.stat(path)
    return {
        "path": path,
        "size": status.st_size,
        "mtime": status.st_mtime_ns,
        "ctime": status.st_ctime_ns,
        "sha256": digest_of(Path(path).read_bytes()),
    }


def unchanged(known: dict[str, Any]) -> bool:
    path = known["path"]
    try:
        status = os.stat(path)
        if status.st_size != known["size"]:
            return False
        # The time of change cannot be set by anyone, the time of modification can.
        if path.startswith(TRUSTED) and (status.st_mtime_ns, status.st_ctime_ns) == (known["mtime"], known["ctime"]):
            return True
        return digest_of(Path(path).read_bytes()) == known["sha256"]
    except OSError:
        return False


@dataclass(frozen=True)
class Made:
    """A new binary: its content, the files it was made from, and what else is to be remembered."""

    content: bytes
    files: list[str]
    facts: dict[str, Any]
    absent: tuple[str, ...] = ()  # files that would have been taken in the place of others, had they been there


def find_or_make(key: str, facts: dict[str, Any], make: Callable[[], Made]) -> tuple[bytes, dict[str, Any]]:
    """The binary of `key`, from the cache where all files it was made from are as they were, else made and kept.

    Parameters
    ----------
    key : str
        Hexadecimal digits; stands for everything but the content of included files.
    facts : dict
        What :func:`entries` shows.
    make : callable
        Makes the binary.

    Returns
    -------
    content : bytes
    facts : dict
        Those of ``make``.
    """
    try:
        folder = private_folder(private_folder(cache_folder()) / key)
        if (found := find(folder)) is not None:
            return found
        lock = locked(folder)
        lock.__enter__()
    except NotPrivateError:
        raise
    except (OSError, RuntimeError) as error:
        warn(error)
        made = make()
        return made.content, made.facts
    with contextlib.ExitStack() as stack:
        stack.push(lock)
        if (found := find(folder)) is not None:  # another process made it meanwhile
            return found
        begin = time.time_ns()
        made = make()
        try:
            keep(folder, facts, made, begin)
        except NotPrivateError:
            raise
        except OSError as error:
            warn(error)
        return made.content, made.facts


def warn(error: Exception) -> None:
    warnings.warn(
        f"compiled kernels cannot be kept ({error}); every process compiles them anew: set ASCEND_CY_CACHE_DIR to a folder that "
        "can be written",
        RuntimeWarning,
        stacklevel=6,
    )


def read_entry(path: Path) -> dict[str, Any]:
    """What a json says; ValueError where it is not as it was written."""
    try:
        entry = json.loads(path.read_bytes())
        if entry["format"] == FORMAT and digest_of(json.dumps(entry["body"]).encode()) == entry["check"]:
            return dict(entry["body"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise ValueError(f"{path} is damaged")


def find(folder: Path) -> tuple[bytes, dict[str, Any]] | None:
    """A usable entry of one key."""
    for path in sorted(folder.glob("*.json")):
        try:
            entry = read_entry(path)
            if not all(map(unchanged, entry["files"])) or any(map(os.path.lexists, entry["absent"])):
                continue
            content = path.with_suffix(".bin").read_bytes()
        except (OSError, ValueError):
            continue  # damaged, or going away
        if digest_of(content) == entry["digest"]:
            return content, entry["made"]
    return None


def keep(folder: Path, facts: dict[str, Any], made: Made, begin: int) -> None:
    """Keep what was made since `begin`, unless one of its files was changed since: then nobody knows what went into it."""
    files = [stamp(path) for path in made.files]
    if any(file["ctime"] > begin or file["mtime"] > begin for file in files if not file["path"].startswith(TRUSTED)):
        return
    body = {
        "facts": facts,
        "made": made.facts,
        "files": files,
        "absent": list(made.absent),
        "digest": digest_of(made.content),
        "bytes": len(made.content),
    }
    entry = {"format": FORMAT, "check": digest_of(json.dumps(body).encode()), "body": body}
    name = digest_of(json.dumps([[(file["path"], file["sha256"]) for file in files], made.absent]).encode())[:16]
    private_folder(private_folder(folder.parent) / folder.name)  # somebody may have cleared the cache
    write_whole(folder / f"{name}.bin", made.content)
    write_whole(folder / f"{name}.json", json.dumps(entry, indent=1).encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write a private file that appears under its name whole or not at all."""
    descriptor, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, where there are locks."""
    path = folder / "lock"
    while True:
        private_folder(folder)  # somebody may have cleared the cache
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # of the descriptor: holds against other threads, too
            except OSError:  # no locks on this file system: the work may be done twice
                same = True
            else:
                same = is_still(path, descriptor)  # not one that was removed while we waited
            if same:
                yield
                return
        finally:
            os.close(descriptor)


def is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


# ---- for `ascend-cy cache` ----


@dataclass(frozen=True)
class CacheEntry:
    """One kept binary."""

    key: str
    path: Path
    facts: dict[str, Any]
    nbytes: int
    used: float  # seconds since the epoch


def entries() -> list[CacheEntry]:
    """What is in the cache, newest first."""
    found = []
    for path in cache_folder().glob("*/*.json"):
        try:
            entry = read_entry(path)
            found.append(CacheEntry(path.parent.name, path, entry["facts"], entry["bytes"], path.stat().st_mtime))
        except (OSError, ValueError):
            continue
    return sorted(found, key=lambda entry: -entry.used)


def clear() -> int:
    """Remove everything that this module put there; the number of binaries. Loaded modules go on."""
    count = 0
    folder = cache_folder()
    for part in list(folder.glob("*")) if folder.is_dir() else []:
        if not part.is_dir():
            continue
        with locked(part):
            for path in files_of(part):
                count += path.suffix == ".json"
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
            with contextlib.suppress(OSError):
                (part / "lock").unlink()  # under it: whoever waits sees that it is gone
        with contextlib.suppress(OSError):
            part.rmdir()
    return count


def files_of(folder: Path) -> Iterable[Path]:
    # The json first: without it nobody looks at the rest.
    inside = [path for path in folder.iterdir() if path.name != "lock"]
    return sorted(inside, key=lambda path: path.suffix != ".json")
