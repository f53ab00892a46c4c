# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/errors.md against the code: classes, codes, advice."""

from __future__ import annotations

import builtins
import os
import re
from pathlib import Path

import child
import embedded
import numpy as np
import pytest

import ascend_cy
from ascend_cy import errors

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "errors.md").read_text()


def table(title: str) -> list[list[str]]:
    """The cells of the table whose header begins with `title`."""
    lines = PAGE[PAGE.index(f"| {title} |"):].splitlines()
    rows = []
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def exception(name: str) -> type[BaseException]:
    return getattr(errors, name, None) or getattr(builtins, name)


def named_errors() -> dict[str, int]:
    header = (Path(ascend_cy.get_include()) / "ascend_cy" / "acl_errors.h").read_text()
    return {name: int(code) for name, code in re.findall(r"X\((ACL_ERROR_\w+), ([1-9]\d*)\)", header)}


def class_of_code() -> dict[int, str]:
    return {int(code): re.findall(r"`(\w+)`", row[0])[0] for row in table("class") for code in re.findall(r"\b\d{6}\b", row[1])}


CLASSES = [re.findall(r"`(\w+)`", row[1]) for row in table("what went wrong")]


def test_every_class_is_in_the_table_with_its_bases():
    told = {names[0]: set(names[1:]) for names in CLASSES if names}
    assert set(errors.__all__) == {name for name in told if hasattr(errors, name)}
    for name in errors.__all__:
        assert told[name] == {base.__name__ for base in getattr(errors, name).__bases__}, name
        assert getattr(ascend_cy, name) is getattr(errors, name)
    for name in told:
        assert issubclass(exception(name), BaseException)


def test_everything_raised_in_the_sources_is_in_the_table():
    told = {names[0] for names in CLASSES if names}
    raised = set()
    for path in sorted((ROOT / "ascend_cy").glob("*.py*")):
        if path.suffix in (".py", ".pyx") and not path.name.startswith("_cli") and path.name != "cli.py":
            raised |= set(re.findall(r"\braise ([A-Z]\w+)\(", path.read_text()))
    assert len(raised) > 10
    # What the package raises for itself and turns into another one, and what Python's protocols ask for.
    raised -= {"KernelSourceError", "CannError", "NotPrivateError", "AttributeError"}
    for name in raised:
        assert any(issubclass(exception(name), exception(parent)) for parent in told), f"{name} is not in docs/errors.md"


def test_codes_become_the_classes_of_the_table():
    """Every code that has a name, given by a device function."""
    embedded.require()
    wanted = class_of_code()
    known = named_errors()
    assert len(known) > 200 and set(wanted) <= set(known.values())
    for name, code in known.items():
        with embedded.faults(f"call=aclrtMemsetAsync,code={code}"), pytest.raises(ascend_cy.AclError) as caught:
            ascend_cy.zeros(4)
        error = caught.value
        # 100029 is the package's own finding where no function is to blame.
        kind = "AclError" if code in (100029, 500001) else wanted.get(code, "AclError")
        assert type(error).__name__ == kind, (name, code)
        assert (error.code, error.function) == (code, "aclrtMemsetAsync")
        assert known[error.name] == code
        assert error.name in str(error) and str(code) in str(error)
        del error, caught
    with embedded.faults("call=aclrtMemsetAsync,code=999999"), pytest.raises(ascend_cy.AclError) as caught:
        ascend_cy.zeros(4)
    assert type(caught.value) is ascend_cy.AclError
    assert (caught.value.code, caught.value.name) == (999999, "")
    ascend_cy.synchronize()


ADVICE = {row[0]: (re.findall(r"\b\d{6}\b", row[1]), row[2].strip("“”")) for row in table("cause")}


@pytest.mark.parametrize("cause", [cause for cause, (codes, _) in ADVICE.items() if codes])
def test_codes_come_with_advice(cause):
    embedded.require()
    codes, advice = ADVICE[cause]
    for code in codes:
        with embedded.faults(f"call=aclrtMemsetAsync,code={code}"), pytest.raises(ascend_cy.AclError) as caught:
            ascend_cy.zeros(4)
        assert advice in caught.value.detail, code
        assert advice in str(caught.value)


def in_process(tmp_path, code: str, **env: str) -> str:
    status, out, err = child.run(code, tmp_path, env=env)
    assert (status, err) == (0, ""), err
    return out


def out_of_memory(tmp_path):
    with pytest.raises(ascend_cy.DeviceMemoryError) as caught:
        ascend_cy.empty(2**45, "uint8")
    assert isinstance(caught.value, MemoryError)
    assert re.search(r"asked for \d+ bytes; the pool has reserved \d+ bytes", str(caught.value))
    return str(caught.value)


def no_stream_left(tmp_path):
    """Until the device has none left; what is dropped then gives room."""
    return in_process(tmp_path, """
    import ascend_cy
    streams = []
    try:
        for _ in range(100000):
            streams.append(ascend_cy.Stream())
    except ascend_cy.AclError as error:
        print(error)
        del error
    streams.clear()
    assert ascend_cy.Stream().query()
    """)


def block_count(tmp_path):
    path = embedded.build_kernels(tmp_path)
    with ascend_cy.load(path) as module:
        kernel = module.kernel(*KERNEL)
        array = ascend_cy.zeros(1, "int64")
        with pytest.raises(ValueError) as caught:
            kernel[65536](0, array, 1)
        return str(caught.value)


def forked_child(tmp_path):
    return in_process(tmp_path, """
    import os, warnings
    import numpy as np, ascend_cy
    warnings.simplefilter("ignore", DeprecationWarning)  # of fork with threads
    ascend_cy.zeros(3).to_numpy()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            ascend_cy.zeros(3)
        except ascend_cy.AclError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    print(os.read(read, 10000).decode())
    """)


def wrong_device(tmp_path):
    return in_process(tmp_path, """
    import ascend_cy
    x = ascend_cy.zeros((2, 3))
    try:
        ascend_cy.layernorm(x, stream=ascend_cy.Stream(device=1))
    except ValueError as error:
        print(error)
    """, ASCENDCL_CPU_DEVICES="2")


def missing_library(tmp_path):
    return in_process(tmp_path, """
    import ascend_cy
    for _ in range(2):
        try:
            ascend_cy.zeros(3)
        except ascend_cy.DeviceNotFoundError as error:
            assert "libascendcl.so" in str(error)
            said = str(error)
    print(said)
    """, ASCEND_CY_DEVICE="npu", ASCEND_HOME_PATH="", ASCEND_TOOLKIT_HOME="")


# A kernel of tests/helpers/kernels and its parameters.
KERNEL = ("slow_store", "i64 ns, ptr target, i64 value")

HAPPENS = {"out of memory": out_of_memory, "no stream left": no_stream_left, "block count": block_count,
           "forked child": forked_child, "wrong device": wrong_device, "missing library": missing_library}


@pytest.mark.parametrize("cause", HAPPENS)
def test_advice_where_it_really_happens(cause, tmp_path):
    embedded.require()
    assert ADVICE[cause][1] in HAPPENS[cause](tmp_path)
