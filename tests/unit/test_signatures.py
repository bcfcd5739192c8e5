"""No function of the Rust crates takes a tuple as a parameter.

The fields of a tuple have no names; separate parameters or a struct have.

Mutants seen to fail: ``(a, b): (u32, u32)``, ``x: &mut (u32, u32)``, a tuple on a line of its own, and one
behind generic parameters that contain parentheses.
"""

from __future__ import annotations

import re

from support import ROOT

FUNCTION = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?(?:const |unsafe )*fn (\w+)", re.M)
TUPLE = re.compile(r": *(?:&(?:'\w+ )?(?:mut )?)?\((?!impl |dyn )")


def parameters(signature: str) -> list[str]:
    """Split the parameters of a signature that begins behind the function's name."""
    found, depth, inside, before = [""], 0, False, ""
    for character in signature:
        if character == "(" and depth == 0:
            inside = True
        depth += character in "([{<"
        depth -= character in ")]}" or (character == ">" and before not in "-=")
        if inside and depth == 0:
            break
        if inside and character == "," and depth == 1:
            found.append("")
        elif inside:
            found[-1] += character
        before = character
    return found


def test_no_function_takes_a_tuple() -> None:
    found = []
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        text = path.read_text(encoding="utf-8").partition("\n#[cfg(test)]\nmod tests {")[0]
        for function in FUNCTION.finditer(text):
            if any(TUPLE.search(parameter) for parameter in parameters(text[function.end() :])):
                found.append(f"{path.relative_to(ROOT)}: {function[1]}")
    assert found == []
