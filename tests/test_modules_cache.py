# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled kernels: what makes a new binary and what does not, damage, many processes, odd folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import warnings

import embedded
import pytest

import ascend_cy
from ascend_cy import _cache, _compile

# A kernel of plain C++ for the embedded device, as small as they come.
SOURCE = """
#include "ascend_cy/kernel_abi.h"
#ifdef WITH_HEADER
#include "value.h"
#endif
#ifndef VALUE
#define VALUE 1
#endif
static void set(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *)
{
    **static_cast<float *const *>(args) = VALUE;
}
static const ascend_kernel_param_t params[] = {{"x", 0, 8, ASCEND_KERNEL_PARAM_POINTER, 0}};
static const ascend_kernel_desc_t kernels[] = {{"set", set, nullptr, params, 1, 8, ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0}};
extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table;
const ascend_kernel_table_t ascend_kernel_table = {ASCEND_KERNEL_ABI_VERSION, sizeof(ascend_kernel_table_t),
                                                   sizeof(ascend_kernel_desc_t), ASCEND_KERNEL_TARGET_CPU, 1, 0, kernels, "test"};
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    embedded.compiler()
    monkeypatch.setenv("ASCEND_CY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "modules"


@pytest.fixture
def made(monkeypatch):
    """How many times something was compiled."""
    calls = []
    make = _compile.Build.make
    monkeypatch.setattr(_compile.Build, "make", lambda self: (calls.append(self.target), make(self))[1])
    return calls


def build(source=SOURCE, **how):
    request = _compile.Request.checked(how.pop("target", "cpu"), how.pop("options", ()), how.pop("include_dirs", ()),
                                       how.pop("compiler", None))
    return request.build(source)[0]


def test_a_cpu_kernel_runs():
    if embedded.kind() != "cpu":
        pytest.skip("needs the cpu device")
    with ascend_cy.compile(SOURCE, options=["-DVALUE=7"]) as module:
        x = ascend_cy.zeros(1)
        module.kernel("set", "ptr x")[1](x)
        assert x.to_numpy()[0] == 7
        with pytest.raises(ValueError, match="signature must be given"):
            module.kernel("set")


def test_what_makes_a_new_binary(tmp_path, made, monkeypatch):
    build()
    build()
    assert len(made) == 1
    build(SOURCE + "\n")
    build(options=["-DVALUE=2"])
    build(include_dirs=[tmp_path])
    wrapper = tmp_path / "my c++"
    wrapper.write_text(f'#!/bin/sh\nexec {embedded.compiler()[0]} "$@"\n')
    wrapper.chmod(0o755)
    build(compiler=f"'{wrapper}'")
    assert len(made) == 5
    build(compiler=f"'{wrapper}'")
    assert len(made) == 5
    # The same name, another program: it says that it is another version.
    wrapper.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec echo version 99\nexec {embedded.compiler()[0]} "$@"\n')
    build(compiler=f"'{wrapper}'")
    assert len(made) == 6
    monkeypatch.setenv("CPATH", str(tmp_path))
    build()
    assert len(made) == 7


def test_options_that_depend_on_where_one_is(tmp_path, made, monkeypatch):
    contents = []
    for value in (1, 2):
        place = tmp_path / f"project{value}"
        (place / "include").mkdir(parents=True)
        (place / "include" / "value.h").write_text(f"#define VALUE {value}\n")
        monkeypatch.chdir(place)
        contents.append(build(options=["-Iinclude", "-DWITH_HEADER"]))
    assert contents[0] != contents[1] and len(made) == 2
    build(options=["-march=native"])
    monkeypatch.setattr(_compile, "cpu_identity", lambda: "another machine with the same home")
    build(options=["-march=native"])
    assert len(made) == 4


def test_headers_are_looked_at_and_not_their_times(tmp_path, made):
    header = tmp_path / "value.h"
    contents = {}
    for value in (1, 2, 1, 3):
        header.write_text(f"#define VALUE {value}\n")
        os.utime(header, (1_000_000_000, 1_000_000_000))  # the same size and time, whatever is in it
        content = build(options=["-DWITH_HEADER"], include_dirs=[tmp_path])
        assert contents.setdefault(value, content) == content
    assert len(set(contents.values())) == 3 and len(made) == 3
    os.utime(header)  # another time, the same content
    build(options=["-DWITH_HEADER"], include_dirs=[tmp_path])
    assert len(made) == 3


def test_a_header_that_comes_before_another(tmp_path, made):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "value.h").write_text("#define VALUE 2\n")
    how = {"options": ["-DWITH_HEADER"], "include_dirs": [first, second]}
    old = build(**how)
    assert build(**how) == old and len(made) == 1
    (first / "value.h").write_text("#define VALUE 1\n")
    assert build(**how) != old and len(made) == 2
    (first / "value.h").unlink()
    assert build(**how) == old


def test_what_changes_during_the_compilation_is_not_kept(tmp_path, folder, made, monkeypatch):
    header = tmp_path / "value.h"
    header.write_text("#define VALUE 1\n")
    compile_cpu = _compile.Build.compile_cpu

    def slow(self, *args):
        compile_cpu(self, *args)
        header.write_text("#define VALUE 2\n")  # too late for this binary

    with monkeypatch.context() as patch:
        patch.setattr(_compile.Build, "compile_cpu", slow)
        old = build(options=["-DWITH_HEADER"], include_dirs=[tmp_path])
    assert not list(folder.glob("*/*.json"))
    assert build(options=["-DWITH_HEADER"], include_dirs=[tmp_path]) != old


def damage_nothing(path):
    path.write_bytes(b"")


def damage_half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damage_one_byte(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def damage_rubbish(path):
    path.write_bytes(b'{"format": 2, "body": {"files": 3}, "check": ""}')


def damage_gone(path):
    path.unlink()


@pytest.mark.parametrize("suffix", [".bin", ".json"])
@pytest.mark.parametrize("damage", [damage_nothing, damage_half, damage_one_byte, damage_rubbish, damage_gone])
def test_damage_is_found_and_mended(folder, made, damage, suffix):
    content = build()
    (path,) = folder.glob(f"*/*{suffix}")
    damage(path)
    assert build() == content and len(made) == 2
    assert build() == content and len(made) == 2
    assert len(_cache.entries()) == 1


def test_what_an_entry_says_is_checked(folder, made):
    """A signature that was changed would put arguments in the wrong places."""
    build()
    (path,) = folder.glob("*/*.json")
    entry = json.loads(path.read_bytes())
    entry["body"]["made"] = {"signatures": {"set": ["float x"]}}
    path.write_text(json.dumps(entry))
    build()
    assert len(made) == 2


def test_leftovers_of_a_killed_process_do_no_harm(folder, made):
    build()
    (path,) = folder.glob("*/*.json")
    (path.parent / ".tmp1234").write_bytes(b"half a binary")
    build()
    assert len(made) == 1
    _cache.clear()
    assert not list(folder.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path, folder, made):
    content = build()
    key = next(folder.iterdir())
    key.chmod(0o500)
    folder.chmod(0o500)
    try:
        assert build() == content and len(made) == 1  # what is there is used
        with pytest.warns(RuntimeWarning, match="cannot be kept"):
            build(options=["-DVALUE=5"])
    finally:
        folder.chmod(0o700)
        key.chmod(0o700)


def test_nowhere_to_keep_anything(tmp_path, made, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASCEND_CY_CACHE_DIR", str(tmp_path / "file"))  # no folder can be made below it
    with pytest.warns(RuntimeWarning, match="cannot be kept.*set ASCEND_CY_CACHE_DIR"):
        build()
    for name in ("ASCEND_CY_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(_cache.Path, "home", no_home)
    with pytest.warns(RuntimeWarning, match="set ASCEND_CY_CACHE_DIR or HOME"):
        build()
    assert len(made) == 2


def test_a_disk_that_is_full(folder, made, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(_cache, "write_whole", full)
        with pytest.warns(RuntimeWarning, match="No space left on device"):
            content = build()
    assert build() == content and len(made) == 2


def test_a_file_system_without_locks(made, monkeypatch):
    def refuse(*args):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(_cache.fcntl, "flock", refuse)
    content = build()
    assert build() == content and len(made) == 1


def test_threads_and_a_cache_that_is_cleared_meanwhile(made):
    """Nobody fails, whatever vanishes below."""
    failures, results = [], set()
    stop = threading.Event()

    def work(number):
        try:
            for i in range(3):
                results.add((i % 2, build(options=[f"-DVALUE={i % 2}"])))
        except BaseException as error:
            failures.append(error)

    def clear():
        try:
            while not stop.wait(0.01):
                _cache.clear()
        except BaseException as error:
            failures.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        broom = threading.Thread(target=clear)
        [thread.start() for thread in (*threads, broom)]
        [thread.join() for thread in threads]
        stop.set()
        broom.join()
    assert not failures
    assert len(results) == 2


def test_a_hundred_processes_at_once(tmp_path, folder):
    """One compiles, the others wait and read; each loads the binary and runs the kernel."""
    embedded.require()
    script = tmp_path / "hundred.py"
    script.write_text('''
import os, sys
import ascend_cy
SOURCE = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void set_value(GM_ADDR x)
{
    AscendC::GlobalTensor<float> global;
    global.SetGlobalBuffer((__gm__ float *)x, 1);
    global.SetValue(0, 42);
}
"""
ready, go = os.pipe()
children = []
for _ in range(100):
    child = os.fork()  # before the first use of the device: the child starts afresh
    if child == 0:
        code = 1
        try:
            os.close(go)
            os.read(ready, 1)  # until all are there
            with ascend_cy.compile(SOURCE, target="sim") as module:
                x = ascend_cy.zeros(1)
                module.kernel("set_value")[1](x)
                code = 0 if x.to_numpy()[0] == 42 else 2
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    children.append(child)
os.close(ready)
os.close(go)
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
''')
    log = tmp_path / "compilations"
    compiler = tmp_path / "c++"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *--version*) ;; *) echo "$$" >> "{log}";; esac\n'
                        f'exec {embedded.compiler()[0]} "$@"\n')
    compiler.chmod(0o755)
    environment = {**os.environ, "CXX": str(compiler), "ASCENDCL_CPU_WORKERS": "1"}
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=280)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(folder.glob("*/*.json"))) == 2  # the kernel, and the simulator's runtime
    # The kernel, the link, and what the runtime takes: of one process, not of a hundred.
    assert len(log.read_text().splitlines()) < 20
