#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write ascend_cy/_acl.pxd, the Cython mirror of csrc/include/ascend_cy/acl*.h.

    python tools/gen_acl_pxd.py           write it
    python tools/gen_acl_pxd.py --check   exit with 1 if the file is not what the headers say

The headers are ours and written in one plain style, so a handful of patterns reads them; whatever none of
the patterns knows is an error, never skipped.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 110

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Made from csrc/include/ascend_cy/acl*.h by tools/gen_acl_pxd.py: change those, not this.
#
# AscendCL for Cython. Types and constants are those of ascend_cy/acl.h, whose folder ascend_cy.get_include()
# names. A function is an entry of the table of the device in use, so nothing has to be linked, but ascend_cy
# must have been imported in the process before the first call. No call here raises: look at the aclError.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "ascend_cy/acl.h":
"""


class HeaderError(Exception):
    """A header holds something this script does not know."""


def read_list(text: str, macro: str) -> list[list[str]]:
    """The entries of an X list: `#define macro(X) X(a, b, (c, d)) ...` gives [['a', 'b', '(c, d)'], ...]."""
    match = re.search(rf"#define {macro}\(X\)((?:.*\\\n)*.*)", text)
    if match is None:
        raise HeaderError(f"no list {macro}")
    body = re.sub(r"/\*.*?\*/", " ", match.group(1).replace("\\\n", " "), flags=re.S)
    entries = []
    position = 0
    while position < len(body):
        if body[position].isspace():
            position += 1
            continue
        if not body.startswith("X(", position):
            raise HeaderError(f"{macro}: {body[position : position + 60]!r}")
        end = closing(body, position + 1)
        entries.append([" ".join(field.split()) for field in split_top(body[position + 2 : end])])
        position = end + 1
    return entries


def closing(text: str, start: int) -> int:
    """The index of the bracket that closes the one at `start`."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] in "({":
            depth += 1
        elif text[index] in ")}":
            depth -= 1
            if depth == 0:
                return index
    raise HeaderError(f"unclosed bracket: {text[start : start + 60]!r}")


def split_top(text: str, separator: str = ",") -> list[str]:
    """Split at separators that are in no bracket."""
    parts, depth, begin = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "({") - (char in ")}")
        if char == separator and depth == 0:
            parts.append(text[begin:index])
            begin = index + 1
    parts.append(text[begin:])
    return parts


def own_definitions(text: str) -> str:
    """The part of acl_types.h that is used without CANN's headers, with the one type that always is."""
    begin = text.index("#else /* our own definitions */")
    end = text.index("#endif /* our own definitions */")
    always = re.search(r"typedef struct ascend_cy_dim3 \{.*?\} ascend_cy_dim3;", text, re.S)
    if always is None:
        raise HeaderError("ascend_cy_dim3 is gone")
    return text[begin:end].split("\n", 1)[1] + always.group(0)


class Mirror:
    """Collects the lines of the .pxd while walking over the C declarations."""

    def __init__(self, errors: list[list[str]]) -> None:
        self.errors = errors
        self.lines: list[str] = []
        self.macros: dict[str, str] = {}
        self.constants: list[str] = []

    def flush_constants(self) -> None:
        if self.constants:
            self.lines += ["    enum:", *(f"        {name}" for name in self.constants), ""]
            self.constants = []

    def block(self, head: str, body: list[str]) -> None:
        self.flush_constants()
        if self.lines and self.lines[-1] and not self.lines[-1].startswith("    #"):
            self.lines.append("")
        self.lines += [f"    {head}:", *(f"        {line}" for line in body), ""]

    def line(self, text: str) -> None:
        self.flush_constants()
        if self.lines and self.lines[-1] and not self.lines[-1].startswith(("    ctypedef", "    #")):
            self.lines.append("")
        self.lines.append(f"    {text}")

    def section(self, title: str) -> None:
        self.flush_constants()
        if self.lines and self.lines[-1]:
            self.lines.append("")
        self.lines.append(f"    # {title}")

    def walk(self, text: str) -> None:
        position = 0
        while position < len(text):
            for pattern, action in PATTERNS:
                match = pattern.match(text, position)
                if match is not None:
                    position = action(self, match, text)
                    break
            else:
                raise HeaderError(f"acl_types.h: cannot read {text[position : position + 80]!r}")
        self.flush_constants()

    def fields(self, owner: str, body: str) -> list[str]:
        """The fields of a struct or union; nested unions become types of their own (C gives them no name)."""
        result = []
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        for field in split_top(body, ";"):
            field = " ".join(field.split())
            if not field:
                continue
            nested = re.fullmatch(r"(?:__extension__ )?union \{(.*)\}\s*(\w*)", field)
            if nested is not None and nested.group(2):
                name = f"{owner}_{nested.group(2)}"
                self.block(f"ctypedef union {name}", self.fields(name, nested.group(1)))
                result.append(f"{name} {nested.group(2)}")
            elif nested is not None:  # its members are reached as if they were the struct's
                result += self.fields(owner, nested.group(1))
            else:
                result.append(re.sub(r"\[(\w+)\]", lambda size: f"[{self.number(size.group(1))}]", field))
        return result

    def number(self, text: str) -> str:
        """Cython wants array sizes as numbers."""
        return str(int(self.macros.get(text, text).rstrip("UL"), 0))

    # One method a pattern; each returns where to go on reading.

    def on_skip(self, match: re.Match[str], text: str) -> int:
        return match.end()

    def on_section(self, match: re.Match[str], text: str) -> int:
        self.section(match.group(1))
        return match.end()

    def on_define(self, match: re.Match[str], text: str) -> int:
        self.macros[match.group(1)] = match.group(2)
        self.constants.append(match.group(1))
        return match.end()

    def on_errors(self, match: re.Match[str], text: str) -> int:
        self.constants += [name for name, _ in self.errors]
        return match.end()

    def on_enum(self, match: re.Match[str], text: str) -> int:
        end = closing(text, match.end() - 1)
        body = re.sub(r"/\*.*?\*/", "", text[match.end() : end], flags=re.S)
        names = [item.split("=")[0].strip() for item in body.split(",") if item.strip()]
        self.block(f"ctypedef enum {match.group(1)}", names)
        return self.after_type(match.group(1), text, end)

    def on_struct(self, match: re.Match[str], text: str) -> int:
        kind, name = match.group(1), match.group(2)
        end = closing(text, match.end() - 1)
        self.block(f"ctypedef {kind} {name}", self.fields(name, text[match.end() : end]))
        return self.after_type(name, text, end)

    def after_type(self, name: str, text: str, end: int) -> int:
        match = re.compile(rf"\}} {name};").match(text, end)
        if match is None:
            raise HeaderError(f"{name}: tag and name differ")
        return match.end()

    def on_opaque(self, match: re.Match[str], text: str) -> int:
        self.block(f"ctypedef struct {match.group(2)}", ["pass"])
        return match.end()

    def on_callback(self, match: re.Match[str], text: str) -> int:
        ret, name, parameters = (" ".join(part.split()) for part in match.groups())
        wrap(self, f"ctypedef {ret} (*{name})(", parameters, ") noexcept nogil")
        return match.end()

    def on_typedef(self, match: re.Match[str], text: str) -> int:
        self.line("ctypedef " + " ".join(match.group(1).split()))
        return match.end()

    def on_function(self, ret: str, name: str, parameters: str) -> None:
        parameters = parameters[1:-1]
        if parameters == "void":
            parameters = ""
        space = "" if ret.endswith("*") else " "
        wrap(self, f'{ret}{space}{name} "ascend_cy_acl()->{name}"(', parameters, ") noexcept nogil")


def wrap(mirror: Mirror, head: str, parameters: str, tail: str) -> None:
    """A declaration in one line, or broken between parameters."""
    mirror.flush_constants()
    lines, current = [], f"    {head}"
    parts = [part.strip() for part in parameters.split(",")]
    for index, part in enumerate(parts):
        piece = part + (", " if index < len(parts) - 1 else tail)
        if len(current + piece.rstrip()) > WIDTH:
            lines.append(current.rstrip())
            current = "            "
        current += piece
    lines.append(current.rstrip())
    mirror.lines += lines


def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.S)


PATTERNS = [
    (compiled(r"\s+"), Mirror.on_skip),
    (compiled(r"/\* ---- (.*?) -+ \*/"), Mirror.on_section),
    (compiled(r"/\*.*?\*/"), Mirror.on_skip),
    (compiled(r"#ifdef __cplusplus\nextern \"C\" \{\n#endif|#ifdef __cplusplus\n\}\n#endif"), Mirror.on_skip),
    (compiled(r"#define ASCEND_CY_\w+ \w+"), Mirror.on_skip),
    (compiled(r"#define (\w+) (0x[0-9A-Fa-f]+U?L*|\d+U?L*)(?=\s)"), Mirror.on_define),
    (compiled(r"enum \{\n#define [^\n]*\n\s*ASCEND_CY_ACL_ERRORS\(\w+\)\n#undef \w+\n\};"), Mirror.on_errors),
    (compiled(r"typedef enum (\w+) \{"), Mirror.on_enum),
    (compiled(r"typedef (struct|union) (\w+) \{"), Mirror.on_struct),
    (compiled(r"typedef struct (\w+) (\w+);"), Mirror.on_opaque),
    (compiled(r"typedef ([\w ]+?\*?) ?\(\*(\w+)\)\(([^()]*)\);"), Mirror.on_callback),
    (compiled(r"typedef ([\w ]+?[ *]+\w+);"), Mirror.on_typedef),
]


def generate(headers: Path) -> str:
    errors = read_list((headers / "acl_errors.h").read_text(), "ASCEND_CY_ACL_ERRORS")
    functions = read_list((headers / "acl_functions.h").read_text(), "ASCEND_CY_ACL_FUNCTIONS")
    mirror = Mirror(errors)
    mirror.walk(own_definitions((headers / "acl_types.h").read_text()))
    mirror.section("functions, in the order of the table")
    for _kind, _since, ret, name, parameters, _arguments in functions:
        mirror.on_function(ret, name, parameters)
    return HEAD + "\n".join(mirror.lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--headers", type=Path, default=ROOT / "csrc/include/ascend_cy")
    parser.add_argument("--output", type=Path, default=ROOT / "ascend_cy/_acl.pxd")
    options = parser.parse_args()
    text = generate(options.headers)
    if options.check:
        if not options.output.is_file() or options.output.read_text() != text:
            print(f"{options.output} is out of date: run tools/gen_acl_pxd.py", file=sys.stderr)
            return 1
        return 0
    options.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
