"""Signatures of kernels: what the parameters are, and where they lie in the argument block."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# Kinds of parameters. Those of _module.pyx are the same.
POINTER, SIGNED, UNSIGNED, FLOAT, BFLOAT16, BOOL, STRUCT, INLINE = range(8)

SCALARS = {
    "i8": (SIGNED, 1),
    "i16": (SIGNED, 2),
    "i32": (SIGNED, 4),
    "i64": (SIGNED, 8),
    "u8": (UNSIGNED, 1),
    "u16": (UNSIGNED, 2),
    "u32": (UNSIGNED, 4),
    "u64": (UNSIGNED, 8),
    "f16": (FLOAT, 2),
    "f32": (FLOAT, 4),
    "f64": (FLOAT, 8),
    "bf16": (BFLOAT16, 2),
    "bool": (BOOL, 1),
}

# What C++ calls them.
C_NAMES = {
    **{f"int{bits}_t": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 16, 32, 64)},
    "char": "i8",
    "signed char": "i8",
    "unsigned char": "u8",
    "short": "i16",
    "unsigned short": "u16",
    "int": "i32",
    "signed": "i32",
    "unsigned": "u32",
    "unsigned int": "u32",
    "long": "i64",
    "long int": "i64",
    "long long": "i64",
    "unsigned long": "u64",
    "unsigned long int": "u64",
    "unsigned long long": "u64",
    "size_t": "u64",
    "half": "f16",
    "float16_t": "f16",
    "bfloat16_t": "bf16",
    "float": "f32",
    "float32_t": "f32",
    "double": "f64",
}

SLOT = 8
LAYOUTS = ("compiler", "slots")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel."""

    name: str
    type: str  # as a signature spells it
    kind: int
    size: int  # bytes; of data that travels along, those of the pointer to it
    alignment: int
    read_only: bool = False
    offset: int = 0


def parse(signature: str, layout: str = "compiler") -> list[Parameter]:
    """The parameters that a signature names, with their places.

    Parameters
    ----------
    signature : str
        Separated by commas: ``[const] type [name]``, where a type is ``ptr``, ``i8`` … ``u64``, ``f16``, ``bf16``, ``f32``,
        ``f64``, ``bool``, ``struct[size]``, ``struct[size, alignment]`` or ``data``; C's names of types are taken too.
    layout : {"compiler", "slots"}
        Each at a multiple of its alignment, at least of 4; or each on a multiple of 8.

    Raises
    ------
    TypeError, ValueError
        For what is no signature.
    """
    if not isinstance(signature, str):
        raise TypeError(f"signature must be a string, got {type(signature).__name__}")
    if not isinstance(layout, str):
        raise TypeError(f"layout must be a string, got {type(layout).__name__}")
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be 'compiler' or 'slots', got {layout!r}")
    text = signature.strip()
    parts = [part.strip() for part in re.split(r",(?![^\[]*\])", text)] if text else []
    return place([parse_one(part, index) for index, part in enumerate(parts)], SLOT if layout == "slots" else 4)


def from_source(declarations: list[str], told: list[tuple[int, int]] | None) -> list[Parameter]:
    """The parameters that a source declares; `told` are their places and sizes where the binary knows them.

    Raises
    ------
    ValueError
        For a type that is known neither here nor by the binary.
    """
    found = []
    for index, declaration in enumerate(declarations):
        try:
            found.append(parse_one(declaration, index))
        except ValueError:
            # A structure, or a name that the source gave to a type.
            if told is None or len(told) != len(declarations):
                raise ValueError(f"signature must be given: the size of {declaration!r} is not known") from None
            offset, size = told[index]
            alignment = min(offset & -offset or 16, size & -size, 16)
            words = re.findall(r"[A-Za-z_]\w*", declaration)
            name = words[-1] if len(words) > 1 else f"arg{index}"
            found.append(Parameter(name, f"struct[{size}, {alignment}]", STRUCT, size, alignment))
    placed = place(found, 4)
    if told is not None and len(told) == len(placed):
        placed = [replace(parameter, offset=offset) for parameter, (offset, _) in zip(placed, told, strict=True)]
    return placed


def place(parameters: list[Parameter], least: int) -> list[Parameter]:
    """Each at the next multiple of its alignment, and of `least`."""
    placed: list[Parameter] = []
    end = 0
    for parameter in parameters:
        if any(parameter.name == other.name for other in placed):
            raise ValueError(f"signature has two parameters called {parameter.name!r}")
        unit = max(least, parameter.alignment)
        offset = -(-end // unit) * unit
        end = offset + parameter.size
        placed.append(replace(parameter, offset=offset))
    return placed


def parse_one(text: str, index: int) -> Parameter:
    """One parameter, not yet placed."""
    words = text.replace("*", " * ")
    struct = re.fullmatch(r"(const\s+)?struct\s*\[\s*(\d+)\s*(?:,\s*(\d+)\s*)?\](?:\s+([A-Za-z_]\w*))?", text)
    if struct:
        size = int(struct[2])
        alignment = int(struct[3]) if struct[3] else min(8, size & -size) or 1
        if size == 0 or alignment & (alignment - 1) or alignment == 0 or size % alignment:
            raise ValueError(f"parameter {index} of the signature: a struct's size is a multiple of its alignment, a power "
                             f"of two; got {text!r}")
        return Parameter(struct[4] or f"arg{index}", f"struct[{size}, {alignment}]", STRUCT, size, alignment)
    tokens = re.sub(r"\b(?:std|AscendC)::", "", words).split()
    # A const behind the star is the pointer's own.
    read_only = "const" in (tokens[: tokens.index("*")] if "*" in tokens else tokens)
    tokens = [token for token in tokens if token not in ("const", "__gm__", "volatile", "__restrict__", "__restrict")]
    name = f"arg{index}"
    if "*" in tokens or (tokens and tokens[0] in ("ptr", "GM_ADDR")):
        if tokens.count("*") > 1:
            raise ValueError(f"parameter {index} of the signature: kernels take no pointers to pointers, got {text!r}")
        after = tokens[tokens.index("*") + 1 :] if "*" in tokens else tokens[1:]
        if len(after) > 1 or (after and not after[0].isidentifier()) or tokens[0] == "*":
            raise ValueError(f"parameter {index} of the signature is not understood: {text!r}")
        return Parameter(after[0] if after else name, "ptr", POINTER, 8, 8, read_only)
    if tokens and tokens[0] == "data" and len(tokens) <= 2:
        return Parameter(tokens[1] if len(tokens) == 2 else name, "data", INLINE, 8, 8, True)
    for count in range(len(tokens), 0, -1):
        spelled = " ".join(tokens[:count])
        kind = C_NAMES.get(spelled, spelled)
        if kind in SCALARS and len(tokens) - count <= 1:
            if count < len(tokens):
                name = tokens[count]
                if not name.isidentifier():
                    break
            code, size = SCALARS[kind]
            return Parameter(name, kind, code, size, size)
    raise ValueError(
        f"parameter {index} of the signature is not understood: {text!r}; a type is ptr, i8 to i64, u8 to u64, f16, bf16, "
        "f32, f64, bool, struct[size, alignment] or data"
    )


def size_of(parameters: list[Parameter]) -> int:
    """Bytes of the argument block."""
    return max((parameter.offset + parameter.size for parameter in parameters), default=0)


def describe(parameters: list[Parameter]) -> str:
    """The signature again, in one spelling."""
    return ", ".join(
        f"{'const ' if parameter.read_only and parameter.kind == POINTER else ''}{parameter.type} {parameter.name}"
        for parameter in parameters
    )
