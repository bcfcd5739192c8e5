"""Signatures of the Rust crates: no parameter is a tuple, and no time of the simulator is an integer.

The fields of a tuple have no names; separate parameters or a struct have. An integer does not show whether it
is a moment or a duration; ``Time`` and ``Span`` do. Where a plan is read or a column written, an integer has
its unit in its name (``end_ns``).

Mutants seen to fail: ``(a, b): (u32, u32)``, ``x: &mut (u32, u32)``, a tuple on a line of its own, and one
behind generic parameters that contain parentheses; ``now: u64``, ``max_delay: Option<u64>``,
``delays: &[u64]``, ``fn delay(&self) -> Option<u64>``, and the sources before they had the types.
"""

from __future__ import annotations

import re

from support import ROOT

FUNCTION = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?(?:const |unsafe )*fn (\w+)", re.M)
TUPLE = re.compile(r": *(?:&(?:'\w+ )?(?:mut )?)?\((?!impl |dyn )")

INTEGER = r"[ui](?:8|16|32|64|128|size)\b"
WRAPPED = rf"(?:&(?:mut )?|\[|(?:Option|Vec|Box)<)*{INTEGER}"
#: Names of moments and durations: these words, or these endings.
TIME = (
    r"(?:at|now|since|until|arrived|entered|horizon|warmup"
    r"|(?:\w+_)?(?:time|delay|deadline|interval|duration|age|gap|span|rtt|rto)s?"
    r"|(?:\w+_)?(?:timeout|period))"  # `timeouts` and `loss_periods` are counts
)
BARE_TIMES = {
    "parameter or field": re.compile(rf"\b({TIME}): *{WRAPPED}"),
    "return value": re.compile(rf"\bfn ({TIME})\b[^{{;]*-> *{WRAPPED}"),
}


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


def test_no_time_of_the_simulator_is_an_integer() -> None:
    found = []
    for path in sorted((ROOT / "crates/sim/src").glob("**/*.rs")):
        text = path.read_text(encoding="utf-8").partition("\n#[cfg(test)]\nmod tests {")[0]
        for kind, pattern in BARE_TIMES.items():
            found += [f"{path.relative_to(ROOT)}: {kind} {match[1]}" for match in pattern.finditer(text)]
    assert found == []
