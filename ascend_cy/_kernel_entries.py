# SPDX-License-Identifier: Apache-2.0
"""Entry tables of `sim` kernel binaries.

Finds the ``__global__`` functions of an Ascend C source and writes the C++ source that includes it, lists its kernels in
``ascend_kernel_table`` and compiles into a shared object. Parameter types and their layout are left to the compiler.

Standard library only: builds run this file by itself (``python _kernel_entries.py SOURCE -o OUTPUT``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Kernel", "KernelSourceError", "Preprocess", "find_kernels", "generate", "sim_compile_command"]

#: What a compiler's preprocessor makes of a text.
Preprocess = Callable[[str], str]


class KernelSourceError(ValueError):
    """The source has no kernel, or one that cannot be understood."""


@dataclass
class Kernel:
    """One entry: a function, or one explicit instance of a function template."""

    name: str  # as C++ spells it: "layernorm_fp32", "ns::k", "add<float, 3>"
    parameters: list[str] = field(default_factory=list)
    declarations: list[str] = field(default_factory=list)  # of the parameters, as the source has them
    has_c_name: bool = True  # extern "C", as far as the declaration itself tells
    cubes: int = 0
    vectors: int = 1
    synchronizes: bool = False

    @property
    def core_kind(self) -> int:
        """1 vector, 2 cube, 3 mix, as in kernel_abi.h."""
        if self.cubes and self.vectors:
            return 3
        return 2 if self.cubes else 1


# Cores of a block by kernel type; the plain types are those of a chip whose cores are split.
_TASK_TYPES = {
    "KERNEL_TYPE_AIV_ONLY": (0, 1),
    "KERNEL_TYPE_AIC_ONLY": (1, 0),
    "KERNEL_TYPE_MIX_AIV_1_0": (0, 1),
    "KERNEL_TYPE_MIX_AIC_1_0": (1, 0),
    "KERNEL_TYPE_MIX_AIC_1_1": (1, 1),
    "KERNEL_TYPE_MIX_AIC_1_2": (1, 2),
}

# Calls after which the blocks of a launch wait for each other.
_BLOCK_SYNC = re.compile(
    r"\b(?:SyncAll|CrossCoreSetFlag|CrossCoreWaitFlag|IBSet|IBWait|WaitPreBlock|NotifyNextBlock|GroupBarrier"
    r"|ReadGmByPassDCache)\b"
)
_CUBE_ONLY = re.compile(r"\b(?:Mmad|LoadData|Fixpipe|REGIST_MATMUL_OBJ)\b")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def strip_comments(text: str) -> str:
    """Comments, strings and characters replaced by spaces; positions and line numbers stay.

    File names of #include lines survive, so that includes can still be followed.
    """
    pattern = re.compile(
        r'//(?:\\\n|[^\n])*|/\*.*?\*/|^[ \t]*#[ \t]*include[^\n]*|R"([^\s()\\]{0,16})\(.*?\)\1"'
        r"|\"(?:\\.|[^\"\\\n])*\"|(?<![\w])'(?:\\.|[^'\\\n])*'",
        re.DOTALL | re.MULTILINE,
    )
    return pattern.sub(lambda m: m.group() if m.group().lstrip().startswith("#") else _blank(m), text)


_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
_MACRO = re.compile(r"\s*#\s*define\s+([A-Za-z_]\w*)(?!\w|\()(.*)", re.DOTALL)


def without_directives(text: str) -> str:
    """No line of the preprocessor; names that stand for the head of a kernel, ``#define K __global__ …``, replaced."""
    macros = {}
    for line in _DIRECTIVE.findall(text):
        macro = _MACRO.fullmatch(line.replace("\\\n", "  "))
        if macro and "__global__" in macro[2]:
            macros[macro[1]] = macro[2]
    text = _DIRECTIVE.sub(_blank, text)
    if macros:
        names = re.compile(r"\b(?:" + "|".join(macros) + r")\b")
        text = names.sub(lambda name: macros[name.group()], text)
    return text


def _in_conditions(text: str) -> set[int]:
    """Lines, from 0, that stand between an #if and its #endif."""
    found: set[int] = set()
    opened: list[int] = []
    for match in _DIRECTIVE.finditer(text):
        word = re.match(r"\s*#\s*(\w+)", match.group())
        line = text.count("\n", 0, match.start())
        if word and word[1] in ("if", "ifdef", "ifndef"):
            opened.append(line)
        elif word and word[1] == "endif" and opened:
            found.update(range(opened.pop(), line))
    return found


def _taken(raw: str, text: str, declarations: list[_Declaration], preprocess: Preprocess) -> list[_Declaration]:
    """The declarations that are left once the preprocessor has seen the source's conditions.

    It is shown the directives alone, with a mark on the line of each declaration: heads of kernels are macros, which
    would be gone.
    """
    lines = [""] * (raw.count("\n") + 1)
    for match in _DIRECTIVE.finditer(text):
        # Comments are gone from `text`, but so are strings.
        original = raw[match.start() : match.end()]
        kept = original if '"' in original else match.group()
        first = text.count("\n", 0, match.start())
        for number, line in enumerate(kept.split("\n")):
            lines[first + number] = line
    for number, declaration in enumerate(declarations):
        lines[declaration.line] += f" ascend_cy_kernel_{number} "
    left = {int(number) for number in re.findall(r"\bascend_cy_kernel_(\d+)\b", preprocess("\n".join(lines) + "\n"))}
    return [declaration for number, declaration in enumerate(declarations) if number in left]


def _closing(text: str, start: int, opening: str, closing: str) -> int:
    """Index of the bracket that closes the one at `start`, or -1."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] == opening:
            depth += 1
        elif text[i] == closing:
            depth -= 1
            if depth == 0:
                return i
    return -1


def _split(text: str) -> list[str]:
    """The comma separated parts of a parameter list; commas inside brackets do not count."""
    parts, depth, last = [], 0, 0
    for i, c in enumerate(text):
        if c in "(<[{":
            depth += 1
        elif c in ")>]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[last:i])
            last = i + 1
    parts.append(text[last:])
    parts = [p.strip() for p in parts]
    return [] if parts in ([""], ["void"]) else parts


def _parameter_name(declaration: str, index: int) -> str:
    declaration = declaration.split("=")[0]
    declaration = re.sub(r"\[[^\]]*\]", " ", declaration)
    words = _IDENTIFIER.findall(declaration)
    # `int` or `__gm__ uint8_t *` without a name: the last word belongs to the type.
    if len(words) < 2 or not re.search(r"[\w]\s*$", declaration):
        return f"arg{index}"
    return words[-1]


def _scopes(text: str, position: int) -> list[str]:
    """Names of the namespaces that enclose `position`."""
    names: list[str | None] = []
    for match in re.finditer(r"\bnamespace\s+([\w:]+)?\s*\{|[{}]", text[:position]):
        if match.group() == "}":
            if names:
                names.pop()
        else:
            names.append(match.group(1) if match.group().startswith("namespace") else None)
    return [n for n in names if n]


@dataclass
class _Declaration:
    name: str
    arguments: str | None  # of an explicit instance: "<float, 3>"
    parameters: list[str]
    declared: list[str]
    qualifiers: str
    body: str | None
    template: bool
    instance: bool
    scope: list[str]
    line: int  # of the word __global__, from 0


def _declarations(text: str) -> list[_Declaration]:
    """Every place where a kernel is declared, defined or explicitly instantiated."""
    found = []
    position = 0
    while True:
        match = re.compile(r"\b__global__\b").search(text, position)
        if match is None:
            return found
        # Back to the end of the statement before, so that qualifiers in front are seen.
        begin = max(text.rfind(c, 0, match.start()) for c in ";}{") + 1
        before = text[begin : match.start()]
        position = match.end()
        # The name is the last word before the parameter list; __mix__(1, 2) and its like have brackets of their own.
        scan = match.end()
        while True:
            bracket = text.find("(", scan)
            if bracket < 0:
                return found
            word = re.search(r"(\w+)\s*$", text[scan:bracket])
            if word and re.fullmatch(r"__\w+__", word.group(1)):
                scan = _closing(text, bracket, "(", ")") + 1
                continue
            break
        head = text[match.end() : bracket]
        instance = re.search(r"(\w+)\s*(<.*>)\s*$", head, re.DOTALL)
        name = instance or re.search(r"(\w+)\s*$", head)
        end = _closing(text, bracket, "(", ")")
        if name is None or end < 0 or re.search(r"[;{}]", head):
            continue
        after = re.compile(r"\s*([;{])").match(text, end + 1)
        body = None
        if after and after.group(1) == "{":
            close = _closing(text, after.end() - 1, "{", "}")
            body = text[after.end() : close if close > 0 else len(text)]
        found.append(
            _Declaration(
                name=name.group(1),
                arguments=re.sub(r"\s+", " ", instance.group(2)) if instance else None,
                parameters=[_parameter_name(p, i) for i, p in enumerate(_split(text[bracket + 1 : end]))],
                declared=[re.sub(r"\s+", " ", p) for p in _split(text[bracket + 1 : end])],
                qualifiers=before + head,
                body=body,
                template=bool(re.search(r"\btemplate\s*<", before)),
                instance=bool(re.search(r"\btemplate\s*(?!\s*<)", before)),
                scope=_scopes(text, match.start()),
                line=text.count("\n", 0, match.start()),
            )
        )


def _with_includes(source: Path, text: str, include_dirs: list[Path]) -> str:
    """The source and the files of its own that it includes, for looking at what it calls."""
    seen, queue, parts = {source.resolve()}, [(source, text)], []
    while queue:
        path, content = queue.pop()
        parts.append(content)
        for name in _INCLUDE.findall(content):
            for folder in [path.parent, *include_dirs]:
                candidate = (folder / name).resolve()
                if candidate.is_file() and candidate not in seen:
                    seen.add(candidate)
                    queue.append((candidate, strip_comments(candidate.read_text(errors="replace"))))
                    break
    return "\n".join(parts)


def _cores(declaration: _Declaration, body: str, everything: str) -> tuple[int, int]:
    """Cube and vector cores of a block."""
    mix = re.search(r"__mix__\s*\(\s*(\d)\s*,\s*(\d)\s*\)", declaration.qualifiers)
    if mix:
        return int(mix.group(1)), int(mix.group(2))
    if re.search(r"\b__vector__\b", declaration.qualifiers):
        return 0, 1
    if re.search(r"\b__cube__\b", declaration.qualifiers):
        return 1, 0
    task = re.search(r"\bKERNEL_TASK_TYPE(?:_DEFAULT)?\s*\((?:[^(),]*,)?\s*(KERNEL_TYPE_\w+)\s*\)", body)
    if task and task.group(1) in _TASK_TYPES:
        return _TASK_TYPES[task.group(1)]
    return (1, 0) if _CUBE_ONLY.search(everything) else (0, 1)


def find_kernels(
    source: str | Path, include_dirs: list[str | Path] | None = None, *, preprocess: Preprocess | None = None
) -> list[Kernel]:
    """The kernels that the source defines, in order. Templates count by their explicit instances.

    With `preprocess`, which is called where kernels stand between ``#if`` and ``#endif``, those count that are compiled;
    without it all do.
    """
    path = Path(source)
    raw = path.read_text(errors="surrogateescape")
    text = strip_comments(raw)
    everything = _with_includes(path, text, [Path(d) for d in include_dirs or []])
    synchronizes = bool(_BLOCK_SYNC.search(everything))
    declarations = _declarations(without_directives(text))
    conditional = 0
    if preprocess is not None and not {d.line for d in declarations}.isdisjoint(_in_conditions(text)):
        conditional = len(declarations)
        declarations = _taken(raw, text, declarations, preprocess)
        conditional -= len(declarations)
    templates = {d.name: d for d in declarations if d.template and d.body is not None}
    kernels: list[Kernel] = []
    for declaration in declarations:
        if declaration.instance and declaration.name in templates:
            definition = templates[declaration.name]
        elif declaration.body is not None and not declaration.template:
            definition = declaration
        else:
            continue
        name = "::".join([*definition.scope, definition.name]) + (declaration.arguments or "")
        if any(k.name == name for k in kernels):
            continue
        cubes, vectors = _cores(definition, definition.body or "", everything)
        has_c_name = bool(re.search(r"\bextern\b", definition.qualifiers))
        kernels.append(Kernel(name, definition.parameters, definition.declared, has_c_name, cubes, vectors, synchronizes))
    if not kernels:
        left_out = "; those in conditions that are not met do not count" if conditional else ""
        raise KernelSourceError(
            f"{path}: no kernel found (a __global__ function with a body, or an explicit instance of a template){left_out}"
        )
    return kernels


def generate(
    source: str | Path,
    include_dirs: list[str | Path] | None = None,
    *,
    source_names: bool = False,
    kernels: list[Kernel] | None = None,
) -> str:
    """C++ that includes the source and defines the entry table of `kernels`, by default of all that it has.

    With `source_names`, kernels that are not ``extern "C"`` are found as the source calls them as well as by their
    linker's name, which alone an NPU's binary has.
    """
    path = Path(source).resolve()
    if kernels is None:
        kernels = find_kernels(path, include_dirs)
    lines = [
        "// Generated from the kernels of the source below; do not edit.",
        '#include "kernel_operator.h"',
        "",
        f'#include "{path.as_posix()}"',
        "",
        '#include "ascendc_sim/entry.h"',
        "",
        "namespace {",
    ]
    for i, kernel in enumerate(kernels):
        names = "".join(f'"{p}", ' for p in kernel.parameters)
        lines.append(f"const char *const kParameters{i}[] = {{{names}nullptr}};")
    lines.append("ascend_kernel_desc_t kKernels[] = {")
    for i, kernel in enumerate(kernels):
        flags = "ASCEND_KERNEL_BLOCKS_SYNCHRONIZE" if kernel.synchronizes or kernel.core_kind == 3 else "0"
        lines.append(
            f"    AscendC::sim::EntryOf<&::{kernel.name}, {kernel.core_kind}, {kernel.cubes}, {kernel.vectors}>"
            f'::Describe("{kernel.name}", kParameters{i}, {flags}),'
        )
        if source_names and not kernel.has_c_name:
            lines.append(
                f"    AscendC::sim::EntryOf<&::{kernel.name}, {kernel.core_kind}, {kernel.cubes}, {kernel.vectors}>"
                f'::DescribeAs("{kernel.name}", kParameters{i}, {flags}),'
            )
    lines += ["};", "} // namespace", "", "ASCENDC_SIM_TABLE(kKernels);", ""]
    return "\n".join(lines)


# What the simulator's code relies on: kernels reinterpret memory freely, and results must not depend on the host's
# fused multiply-add.
SIM_FLAGS = [
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=hidden",
]
SIM_LINK_FLAGS = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-ldl"]


def sim_compile_command(
    entries: str | Path,
    output: str | Path,
    include_dir: str | Path,
    *,
    compiler: str = "c++",
    extra_include_dirs: list[str | Path] | None = None,
    extra_flags: list[str] | None = None,
) -> list[str]:
    """The command that turns a generated source into a `sim` kernel binary.

    `include_dir` is the folder of the package's headers: it holds ``ascend_cy/`` and ``ascendc/``.
    """
    include = Path(include_dir)
    runtime = sorted((include / "ascendc" / "runtime").glob("*.cpp"))
    if not runtime:
        raise FileNotFoundError(f"{include}/ascendc/runtime: the simulator's sources are not there")
    folders = [include / "ascendc" / "include", include, *map(Path, extra_include_dirs or [])]
    return [
        compiler,
        *SIM_FLAGS,
        *(f"-I{f}" for f in folders),
        *(extra_flags or []),
        str(entries),
        *map(str, runtime),
        "-o",
        str(output),
        *SIM_LINK_FLAGS,
    ]


def main(argv: list[str] | None = None) -> int:
    import argparse  # for builds only

    parser = argparse.ArgumentParser(description="Writes the entry table of an Ascend C source.")
    parser.add_argument("source")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("-I", "--include", action="append", default=[], help="folders of headers the source includes")
    arguments = parser.parse_args(argv)
    try:
        text = generate(arguments.source, arguments.include)
    except (KernelSourceError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    Path(arguments.output).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
