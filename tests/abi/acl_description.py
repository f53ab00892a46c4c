# SPDX-License-Identifier: Apache-2.0
"""What a set of AscendCL headers declares, as a dictionary that can be compared with another's.

The names come from the preprocessed text, everything about them from the compiler: a small program is made
that prints the value of every constant, size, alignment and fields of every struct, and the type of every
function (describe.hpp). Keys look like ``constant ACL_HOST``, ``struct aclrtMemLocation``,
``field aclrtMemLocation.id``, ``type aclrtStream``, ``enum aclFormat``, ``function aclrtMalloc``.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The vendor headers that the runtime library implements; the model and operator parts belong to others.
VENDOR_FILES = (
    "acl_base.h",
    "acl_base_rt.h",
    "acl_rt.h",
    "acl_rt_allocator.h",
    "acl_rt_memory_soma.h",
    "rt_error_codes.h",
)
VENDOR_INCLUDES = ("acl/acl_rt.h", "acl/acl_rt_memory_soma.h")

NUMBER = re.compile(r"\(?\s*-?(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\s*\)?$")


class DescriptionError(Exception):
    """The headers do not compile, or hold something the reader does not know."""


def find_compiler(variable: str, candidates: tuple[str, ...]) -> list[str] | None:
    command = shlex.split(os.environ.get(variable, ""))
    if command and shutil.which(command[0]):
        return command
    for name in candidates:
        if shutil.which(name):
            return [name]
    return None


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise DescriptionError(f"{shlex.join(command)}\n{done.stderr[-4000:]}")
    return done.stdout


@dataclass
class Names:
    """The names a header set declares, in order."""

    constants: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)  # macros that are no number
    types: list[str] = field(default_factory=list)
    fields: list[tuple[str, ...]] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)  # of structs and enums -> the name they are known by


def describe(
    compiler: list[str],
    include_dirs: list[Path],
    includes: tuple[str, ...],
    work: Path,
    *,
    defines: tuple[str, ...] = (),
    files: tuple[str, ...] | None = None,
    ignore: tuple[str, ...] = (),
) -> dict[str, str]:
    """Describe what `includes` declare in files of `include_dirs` (only those called `files`, if given).

    Names that begin with one of `ignore` are left out.
    """
    work.mkdir(parents=True, exist_ok=True)
    prelude = "".join(f"#include <{name}>\n" for name in includes)
    flags = ["-std=c++17", "-w", *(f"-D{name}" for name in defines)]
    flags += [f"-I{folder}" for folder in include_dirs]
    source = work / "names.cpp"
    source.write_text(prelude)
    text = run([*compiler, *flags, "-E", "-dD", str(source)])
    names = read_names(own_lines(text, include_dirs, files), ignore)

    lines = [prelude, f'#include "{HERE / "describe.hpp"}"\n']
    # Sections keep the functions small: one large one takes the compiler much longer.
    calls = [f'DESCRIBE_CONSTANT("{name}", {name})' for name in names.constants]
    calls += [f"DESCRIBE_TYPE({name})" for name in names.types]
    for path in names.fields:
        macro = "DESCRIBE_FIELD" if len(path) == 2 else "DESCRIBE_NESTED"
        calls.append(f"{macro}({', '.join(path)})")
    calls += [f"DESCRIBE_FUNCTION({name})" for name in names.functions]
    chunks = [calls[begin : begin + 100] for begin in range(0, len(calls), 100)]
    for number, chunk in enumerate(chunks):
        lines.append(f"static void part{number}() {{\n" + "\n".join(chunk) + "\n}\n")
    lines.append("int main() {\n" + "\n".join(f"part{number}();" for number in range(len(chunks))) + "\n}\n")
    program = work / "describe.cpp"
    program.write_text("".join(lines))
    binary = work / "describe"
    run([*compiler, *flags, "-O0", str(program), "-o", str(binary)])

    result = {f"constant {name}": value for name, value in names.texts.items()}
    for line in run([str(binary)]).splitlines():
        key, _, value = line.partition("\t")
        result[key] = re.sub(r"\w+", lambda word: names.tags.get(word.group(), word.group()), value)
    return result


def own_lines(text: str, include_dirs: list[Path], files: tuple[str, ...] | None) -> str:
    """The preprocessed lines that come from the headers in question, without the system's."""
    roots = [str(folder.resolve()) for folder in include_dirs]
    marker = re.compile(r'#(?:line)? (\d+) "([^"]*)"')
    kept, keep = [], False
    for line in text.splitlines():
        match = marker.match(line)
        if match is not None:
            path = Path(match.group(2)).resolve() if os.sep in match.group(2) else Path(match.group(2))
            keep = any(str(path).startswith(root + os.sep) for root in roots)
            keep = keep and (files is None or path.name in files)
        elif keep:
            kept.append(line)
    return "\n".join(kept)


def read_names(text: str, ignore: tuple[str, ...]) -> Names:
    names = Names()
    code = []
    for line in text.splitlines():
        define = re.match(r"#define (\w+)(\(?)\s*(.*?)\s*(?://.*)?$", line)
        if define is None:
            if not line.startswith("#"):
                code.append(line)
        elif define.group(2) != "(" and define.group(3) and not define.group(1).startswith(ignore):
            if NUMBER.match(define.group(3)):
                names.constants.append(define.group(1))
            elif "visibility" not in define.group(3) and "deprecated" not in define.group(3):
                names.texts[define.group(1)] = define.group(3)
    body = re.sub(r"\b__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", " ".join(code))
    body = re.sub(r'extern "C" \{|\b__extension__\b', " ", body)
    for statement in statements(body):
        read_statement(statement, names)
    for kind in ("constants", "types", "functions"):
        setattr(names, kind, [name for name in getattr(names, kind) if not name.startswith(ignore)])
    names.fields = [path for path in names.fields if not path[0].startswith(ignore)]
    return names


def statements(text: str) -> list[str]:
    """Declarations, cut at the semicolons outside braces."""
    result, depth, begin = [], 0, 0
    for index, char in enumerate(text):
        depth += char == "{"
        depth -= char == "}"
        depth = max(depth, 0)  # the brace that closes extern "C"
        if char == ";" and depth == 0:
            result.append(" ".join(text[begin:index].split()).lstrip("} "))
            begin = index + 1
    return [statement for statement in result if statement]


def read_statement(text: str, names: Names) -> None:
    enum = re.match(r"(typedef )?enum (\w+ ?)?\{(.*)\} ?(\w*)$", text)
    struct = re.match(r"(typedef )?(?:struct|union) (\w+ ?)?\{(.*)\} ?(\w*)$", text)
    function = re.match(r"(?:extern )?[\w ]+[ *]+(\w+) ?\(.*\)$", text)
    if enum is not None:
        items = [item.split("=")[0].split() for item in enum.group(3).split(",") if item.strip()]
        names.constants += [item[0] for item in items]
        tag = (enum.group(2) or "").strip()
        known_as = enum.group(4) or tag
        if known_as:
            names.types.append(known_as)
            names.tags[tag or known_as] = known_as
    elif struct is not None:
        tag = (struct.group(2) or "").strip()
        known_as = struct.group(4) or tag
        names.tags[tag or known_as] = known_as
        names.types.append(known_as)
        read_fields((known_as,), struct.group(3), names)
    elif re.match(r"typedef struct \w+ \w+$", text):  # opaque: pointers to it show in the signatures
        tag, known_as = text.split()[2:]
        names.tags[tag] = known_as
    elif text.startswith("typedef "):
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", text)
        names.types.append(pointer.group(1) if pointer is not None else re.findall(r"\w+", text)[-1])
    elif text.startswith("static const "):
        names.constants.append(text.split("=")[0].split()[-1])
    elif function is not None:
        names.functions.append(function.group(1))
    elif not text.startswith("static_assert"):
        raise DescriptionError(f"cannot read: {text[:200]}")


def read_fields(path: tuple[str, ...], body: str, names: Names) -> None:
    for item in statements(body):
        nested = re.match(r"(?:union|struct) ?\{(.*)\} ?(\w*)$", item)
        if nested is None:
            name = re.search(r"(\w+) ?(?:\[[^\]]*\] ?)*$", item)
            if name is None:
                raise DescriptionError(f"cannot read a field of {path[0]}: {item}")
            names.fields.append((*path, name.group(1)))
        elif nested.group(2):
            names.fields.append((*path, nested.group(2)))
            read_fields((*path, nested.group(2)), nested.group(1), names)
        else:
            read_fields(path, nested.group(1), names)


def differences(vendor: dict[str, str], ours: dict[str, str]) -> list[str]:
    """`- key` only the vendor has it, `+ key` only we have it, `! key: theirs -> ours` they disagree."""
    result = [f"- {key}" for key in vendor if key not in ours]
    result += [f"+ {key}" for key in ours if key not in vendor]
    result += [
        f"! {key}: {value} -> {ours[key]}"
        for key, value in vendor.items()
        if key in ours and ours[key] != value
    ]
    return result


def read_known(path: Path) -> dict[str, str]:
    """The accepted differences: pattern -> reason. Lines are `difference  # reason`."""
    known = {}
    for line in path.read_text().splitlines():
        pattern, _, reason = line.partition(" # ")
        if not pattern.strip() or line.startswith("#"):
            continue
        if not reason.strip():
            raise DescriptionError(f"{path.name}: no reason given: {line}")
        known[pattern.strip()] = reason.strip()
    return known


def judge(found: list[str], known: dict[str, str]) -> tuple[list[str], list[str]]:
    """Differences that no pattern covers, and patterns that cover nothing."""
    unlisted = [item for item in found if not any(fnmatch.fnmatchcase(item, pattern) for pattern in known)]
    stale = [pattern for pattern in known if not fnmatch.filter(found, pattern)]
    return unlisted, stale
