# SPDX-License-Identifier: Apache-2.0
"""Our AscendCL headers say what CANN's say: every value, layout and signature, as a compiler sees them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "abi"))

import acl_description as acl  # noqa: E402
import exports  # noqa: E402
import vendor_headers  # noqa: E402

KNOWN = HERE / "abi/known_differences.txt"


def installed_package():
    """ascend_cy if it is built and importable (a bare folder of that name is not it)."""
    try:
        import ascend_cy
    except ImportError:
        return None
    return ascend_cy if getattr(ascend_cy, "__file__", None) else None


@pytest.fixture(scope="module")
def headers() -> Path:
    checkout = ROOT / "csrc/include"
    if (checkout / "ascend_cy/acl.h").is_file():
        return checkout
    package = installed_package()
    if package is None:
        pytest.skip("ABI check not run: neither a checkout nor an installed ascend_cy to check")
    return Path(package.get_include())


@pytest.fixture(scope="module")
def cxx() -> list[str]:
    command = acl.find_compiler("CXX", ("g++", "c++"))
    if command is None:
        pytest.skip("ABI check not run: no C++ compiler")
    return command


@pytest.fixture(scope="module")
def vendor_dir() -> Path:
    try:
        return vendor_headers.vendor_include_dir()
    except vendor_headers.HeadersUnavailable as error:
        pytest.skip(f"ABI check not run: {error}")


@pytest.fixture(scope="module")
def vendor(cxx: list[str], vendor_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    work = tmp_path_factory.mktemp("vendor")
    return acl.describe(cxx, [vendor_dir], acl.VENDOR_INCLUDES, work, files=acl.VENDOR_FILES)


def describe_ours(cxx: list[str], headers: Path, work: Path) -> dict[str, str]:
    return acl.describe(
        cxx,
        [headers],
        ("ascend_cy/acl.h",),
        work,
        defines=("ASCEND_CY_ACL_PROTOTYPES",),
        ignore=("ASCEND_CY_", "ascend_cy_"),
    )


def listed_functions(headers: Path) -> list[str]:
    """The names in the X list, read on their own so that the readers check each other."""
    text = (headers / "ascend_cy/acl_functions.h").read_text()
    names = re.findall(r"^ +X\(\w+, [A-EM], [\w *]+?, ?(\w+),", text, re.M)
    assert len(names) == len(set(names)) == text.count("\n    X(")
    return names


# ---- the comparison ----


def test_headers_agree_with_the_vendors(cxx, headers, vendor, tmp_path):
    ours = describe_ours(cxx, headers, tmp_path)
    unlisted, stale = acl.judge(acl.differences(vendor, ours), acl.read_known(KNOWN))
    assert not unlisted, "differences that known_differences.txt does not list:\n" + "\n".join(unlisted)
    assert not stale, "lines of known_differences.txt that match no difference any more:\n" + "\n".join(stale)


def test_the_comparison_sees_everything(cxx, headers, vendor, tmp_path):
    """Nothing got lost while reading the headers: the counts are those of the headers themselves."""
    ours = describe_ours(cxx, headers, tmp_path)
    described = {key.split()[1] for key in ours if key.startswith("function ")}
    assert described == {*listed_functions(headers), "aclAppLog"}

    def count(what: str, facts: dict[str, str]) -> int:
        return sum(key.startswith(what + " ") for key in facts)

    for what, least in (("function", 370), ("constant", 600), ("struct", 45), ("field", 170), ("enum", 60)):
        assert count(what, vendor) >= least
        assert count(what, ours) >= least


# ---- the comparison can fail ----

MUTATIONS = {
    "enum value": (
        "acl_types.h",
        "ACL_MEMCPY_DEVICE_TO_HOST = 2",
        "ACL_MEMCPY_DEVICE_TO_HOST = 20",
        "! constant ACL_MEMCPY_DEVICE_TO_HOST: 2 -> 20",
    ),
    "flag value": (
        "acl_types.h",
        "#define ACL_EVENT_TIME_LINE 0x00000008U",
        "#define ACL_EVENT_TIME_LINE 0x00000004U",
        "! constant ACL_EVENT_TIME_LINE: 8 -> 4",
    ),
    "error code": (
        "acl_errors.h",
        "X(ACL_ERROR_RT_AICORE_EXCEPTION, 507015)",
        "X(ACL_ERROR_RT_AICORE_EXCEPTION, 507016)",
        "! constant ACL_ERROR_RT_AICORE_EXCEPTION: 507015 -> 507016",
    ),
    "parameter width": (
        "acl_functions.h",
        "aclrtStreamGetId, (aclrtStream stream, int32_t *stream_id)",
        "aclrtStreamGetId, (aclrtStream stream, int64_t *stream_id)",
        "! function aclrtStreamGetId: int(void*, int*) -> int(void*, long int*)",
    ),
    "swapped parameters": (
        "acl_functions.h",
        "(void **dev_ptr, size_t size, aclrtMemMallocPolicy policy),",
        "(void **dev_ptr, aclrtMemMallocPolicy policy, size_t size),",
        "! function aclrtMalloc: int(void**, long unsigned int, aclrtMemMallocPolicy) -> "
        "int(void**, aclrtMemMallocPolicy, long unsigned int)",
    ),
    "struct size": (
        "acl_types.h",
        "uint8_t isClear;\n    uint8_t rsv[3];",
        "uint8_t isClear;\n    uint8_t rsv[7];",
        "! struct aclrtCntNotifyWaitInfo: size 16, align 4 -> size 20, align 4",
    ),
    "swapped fields": (
        "acl_types.h",
        "uint32_t addrOffset;\n    uint32_t dataOffset;",
        "uint32_t dataOffset;\n    uint32_t addrOffset;",
        "! field aclrtPlaceHolderInfo.addrOffset: offset 0, unsigned int -> offset 4, unsigned int",
    ),
    "missing function": (
        "acl_functions.h",
        "    X(ERR, A, aclError, aclFinalize, (void), ()) \\\n",
        "",
        "- function aclFinalize",
    ),
}


def mutated(headers: Path, tmp_path: Path, file: str, old: str, new: str) -> Path:
    copy = tmp_path / "include"
    shutil.copytree(headers / "ascend_cy", copy / "ascend_cy")
    path = copy / "ascend_cy" / file
    text = path.read_text()
    assert old in text, "the header changed: adapt this test"
    path.write_text(text.replace(old, new, 1))
    return copy


@pytest.mark.parametrize("what", MUTATIONS)
def test_a_wrong_header_is_reported(what, cxx, headers, vendor, tmp_path):
    file, old, new, expected = MUTATIONS[what]
    wrong = describe_ours(cxx, mutated(headers, tmp_path, file, old, new), tmp_path)
    unlisted, _stale = acl.judge(acl.differences(vendor, wrong), acl.read_known(KNOWN))
    # The spelling of types differs between compilers (long, long int).
    assert [item for item in unlisted if item.split(":")[0] == expected.split(":")[0]], unlisted
    if "g++" in Path(cxx[0]).name:
        assert expected in unlisted


def test_a_wrong_layout_does_not_compile(cxx, headers, tmp_path):
    wrong = mutated(headers, tmp_path, "acl_types.h", "char bytes[16];", "char bytes[17];")
    with pytest.raises(acl.DescriptionError, match="aclrtUuid does not have the size"):
        describe_ours(cxx, wrong, tmp_path)


def test_the_list_of_differences_can_fail(tmp_path):
    found = ["- function aclrtOne", "! constant ACL_TWO: 2 -> 3"]
    known = {"- function aclrt*": "why", "! constant ACL_TWO: 2 -> 4": "why"}
    assert acl.judge(found, known) == (["! constant ACL_TWO: 2 -> 3"], ["! constant ACL_TWO: 2 -> 4"])
    without_reason = tmp_path / "list.txt"
    without_reason.write_text("- function aclrtOne\n")
    with pytest.raises(acl.DescriptionError, match="no reason"):
        acl.read_known(without_reason)


# ---- the table ----


def test_the_table_only_grows_at_its_end(headers):
    """table_order.txt is what has been promised: binaries of other projects have these places compiled in."""
    promised = (HERE / "abi/table_order.txt").read_text().split()
    names = listed_functions(headers)
    assert names[: len(promised)] == promised, "a function moved, vanished or was inserted"
    assert names == promised, f"append to tests/abi/table_order.txt: {names[len(promised) :]}"


# ---- the headers as C and C++ ----

USE = """
#ifdef ASCEND_CY_ACL_PROTOTYPES
extern aclError (*use)(const char *);
aclError (*use)(const char *) = &aclInit;
#else
aclError use(void);
aclError use(void) { return ascend_cy_acl()->aclInit(NULL); }
#endif
"""

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]


@pytest.mark.parametrize("mode", ["table", "ASCEND_CY_ACL_PROTOTYPES", "ASCEND_CY_BUILDING_HOST"])
@pytest.mark.parametrize("standard", ["c99", "c11", "c++17"])
def test_headers_compile_without_warnings(standard, mode, headers, tmp_path):
    cpp = standard.startswith("c++")
    compiler = acl.find_compiler(*(("CXX", ("g++", "c++")) if cpp else ("CC", ("gcc", "cc"))))
    if compiler is None:
        pytest.skip("no compiler")
    source = tmp_path / ("use.cpp" if cpp else "use.c")
    define = "" if mode == "table" else f"#define {mode}\n"
    source.write_text(f'{define}#include "ascend_cy/acl.h"\n{USE}')
    acl.run([*compiler, f"-std={standard}", *STRICT, f"-I{headers}", str(source)])


@pytest.mark.parametrize("first", ["acl/acl.h", "acl/acl_base.h", "acl/acl_rt.h"])
@pytest.mark.parametrize("mode", ["table", "ASCEND_CY_ACL_PROTOTYPES"])
def test_headers_follow_the_vendors_in_one_file(first, mode, cxx, headers, vendor_dir, tmp_path):
    source = tmp_path / "both.cpp"
    define = "" if mode == "table" else f"#define {mode}\n"
    source.write_text(f'#include "{first}"\n{define}#include "ascend_cy/acl.h"\n{USE}')
    flags = ["-std=c++17", "-Werror", "-fsyntax-only", "-Wno-deprecated-declarations"]
    acl.run([*cxx, *flags, f"-I{headers}", f"-I{vendor_dir}", str(source)])


def test_cython_declarations_are_up_to_date():
    script = ROOT / "tools/gen_acl_pxd.py"
    if not script.is_file():
        pytest.skip("not a checkout")
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- what the embedded device library exports ----


def test_device_library_exports_only_listed_functions(headers):
    package = installed_package()
    if package is None:
        pytest.skip("ascend_cy is not importable")
    library = Path(package.get_library_dir()) / "libascendcl_cpu.so"
    assert "aclInit" in exports.exported_functions(library)
    assert exports.unknown_exports(library, set(listed_functions(headers))) == []


def test_an_unlisted_export_is_reported(cxx, headers, tmp_path):
    source = tmp_path / "exports.cpp"
    names = ("aclInit", "aclAppLog", "aclrtBogus", "other")
    source.write_text("".join(f'extern "C" void {name}() {{}}\n' for name in names))
    library = tmp_path / "libexports.so"
    acl.run([*cxx, "-shared", "-fPIC", str(source), "-o", str(library)])
    assert exports.exported_functions(library) == {"aclInit", "aclAppLog", "aclrtBogus"}
    assert exports.unknown_exports(library, set(listed_functions(headers))) == ["aclrtBogus"]
