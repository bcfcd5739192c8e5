"""The shell scripts that configure a setup in Linux, and undo it.

Upload is shaped where it leaves the interface (htb); download is redirected to an ``ifb`` device and shaped
there, since Linux queues only what it sends. The script is for a POSIX shell. It checks first and changes
nothing if a check fails; if a later command fails, it undoes what it has done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sojourn.errors import InputError
from sojourn.study.advise.model import SHAPED, Direction, Link, Setup

#: Names that Linux accepts for an interface, without those that a shell would interpret.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}")


def check_interface(name: str) -> str:
    """Return the name of an interface; raise ``InputError`` if it cannot be one."""
    if not _NAME.fullmatch(name):
        raise InputError("--nic", f"= {name!r} is not an interface", "a name of ip link, like eth0")
    return name


def ifb(nic: str) -> str:
    """Return the name of the ifb device of an interface, at most 15 characters."""
    return f"ifb-{nic}"[:15]


def shaping(device: str, direction: Direction) -> list[list[str]]:
    """Return the ``tc`` commands that shape what a device sends, and put the queue under the shaper."""
    rate, words = f"{direction.rate // 1000}kbit", " ".join(direction.line().words)
    commands = (
        f"qdisc replace dev {device} root handle 1: htb default 10",
        f"class replace dev {device} parent 1: classid 1:10 htb rate {rate} ceil {rate} quantum 1514",
        f"qdisc replace dev {device} parent 1:10 handle 110: {words}",
    )
    return [one.split() for one in commands]


def redirecting(nic: str) -> list[list[str]]:
    """Return the ``tc`` commands that send what an interface receives to its ifb device."""
    match = f"filter add dev {nic} parent ffff: protocol all prio 10 matchall"
    commands = (
        f"qdisc add dev {nic} handle ffff: ingress",
        f"{match} action mirred egress redirect dev {ifb(nic)}",
    )
    return [one.split() for one in commands]


def _lines(commands: Sequence[Sequence[str]]) -> str:
    return "".join(f"tc {' '.join(one)}\n" for one in commands)


_UNDO = """\
tc qdisc del dev {nic} root 2>/dev/null || true
tc qdisc del dev {nic} ingress 2>/dev/null || true
ip link del dev {ifb} 2>/dev/null || true
"""


def undo_script(nic: str) -> str:
    """Return the script that removes both shapers; the kernel then uses its default queue again."""
    check_interface(nic)
    return f"""\
#!/bin/sh
# Removes what the script of `sojourn advise` has configured on {nic}.
set -eu
[ "$(id -u)" = 0 ] || {{ echo "$0: must run as root" >&2; exit 1; }}
{_UNDO.format(nic=nic, ifb=ifb(nic))}tc qdisc show dev {nic}
"""


def setup_script(link: Link, setup: Setup, nic: str) -> str:
    """Return the script that configures both directions of a setup."""
    check_interface(nic)
    down, up, device = setup.down, setup.up, ifb(nic)
    kinds = sorted({one.line().words[0] for one in (down, up)} - {"pfifo", "bfifo"})
    modules = " ".join(["sch_htb", "sch_ingress", "ifb", "cls_matchall", "act_mirred"])
    modules += "".join(f" sch_{kind}" for kind in kinds)
    return f"""\
#!/bin/sh
# {setup.name} in both directions of a link of {link.down} down and {link.up} up.
#
# {nic} must be the interface towards the Internet of the router: what it sends is upload, what it receives
# is download. Both are shaped to {100 * SHAPED:.0f} % of the link's rate, so that the queue forms here
# and not in the modem. If the link does not reach its rate, use the measured one. A restart ends the
# settings.
#
# Not compared here: with the qdisc cake, one line for each direction replaces htb and the queue below it:
#   tc qdisc replace dev {nic} root cake bandwidth {up.rate // 1000}kbit
#   tc qdisc replace dev {device} root cake bandwidth {down.rate // 1000}kbit ingress
set -eu
fail() {{ echo "$0: $*" >&2; exit 1; }}

[ "$(id -u)" = 0 ] || fail "must run as root"
for tool in ip tc; do command -v "$tool" >/dev/null || fail "$tool is missing (package iproute2)"; done
ip link show dev {nic} >/dev/null 2>&1 || fail "there is no interface {nic}"
ip link show dev {device} >/dev/null 2>&1 && fail "{device} exists: run the undo script first"
tc qdisc show dev {nic} | grep -Eq "^qdisc (ingress|clsact|htb|cake|hfsc) " &&
    fail "{nic} is already shaped: remove that first"
for module in {modules}; do modprobe -q "$module" || true; done  # or built in

undo() {{
    trap - EXIT
    echo "$0: failed, and everything is undone" >&2
{_indented(_UNDO.format(nic=nic, ifb=device))}\
    exit 1
}}
trap undo EXIT INT TERM

# Upload: what {nic} sends.
{_lines(shaping(nic, up))}
# Download: what {nic} receives is sent through {device}, which can queue it.
ip link add name {device} type ifb
{_lines(shaping(device, down))}ip link set dev {device} up
{_lines(redirecting(nic))}
trap - EXIT INT TERM
tc -s qdisc show dev {nic}
tc -s qdisc show dev {device}
"""


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
