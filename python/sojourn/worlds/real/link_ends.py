"""The two ends of a shell's link: a device in a new namespace, a device outside of it, and its routing.

The outside end is in the namespace of this process if it may create a device there. For an ordinary user it
is in a second new namespace, in which only programs that this process starts can be reached.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from sojourn.errors import RunFailed
from sojourn.worlds.hosts.namespace import (
    Namespace,
    become_root_of_own,
    check,
    is_privileged,
    last_gid,
)
from sojourn.worlds.real.addresses import Block, blocks
from sojourn.worlds.real.tun import Tun, open_tun

#: The device inside; outside they are called ``sojourn0``, ``sojourn1``, ...
INSIDE = "sojourn"
#: The smallest MTU of a link with IPv6 (RFC 8200, section 5).
LEAST_MTU6 = 1280
#: The largest group id that `ping_group_range` accepts.
_MOST_GID = 2**31 - 1
#: The longest time in which nft adds a rule.
LONGEST_NFT_S = 10.0


@dataclass(frozen=True)
class LinkEnds:
    """A namespace with one uplink.

    Attributes
    ----------
    inside, outside : Namespace
        The two ends.
    near, far : Tun
        Their devices.
    block : Block
        Their addresses.
    is_host : bool
        Whether outside is the namespace in which this process was started.
    limits : list of str
        Destinations that cannot be reached from inside, each with a remedy.
    """

    inside: Namespace
    outside: Namespace
    near: Tun
    far: Tun
    block: Block
    is_host: bool
    limits: list[str]
    translator: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """Close everything; the kernel removes namespaces and devices without users."""
        if self.translator is not None:
            self.translator.kill()
            self.translator.communicate()
        for tun in (self.near, self.far):
            tun.close()
        for namespace in (self.inside, self.outside):
            namespace.close()


def connect(mtu: int = 1500, asks_for_ecn: bool = False, offload: bool = True) -> LinkEnds:
    """Create the namespaces and their devices; this process must not have a second thread yet.

    Connections from inside ask for ECN if `asks_for_ecn`: by default, Linux only accepts it. Without
    `offload` no device gets super-packets.

    Raises
    ------
    InputError
        If the kernel does not allow it; with the missing requirement.
    """
    check()
    is_host = is_privileged()
    if not is_host:
        become_root_of_own()
    outside = Namespace.own() if is_host else Namespace("outside")
    inside = Namespace("inside")
    has_six = Path("/proc/sys/net/ipv6").exists() and mtu >= LEAST_MTU6
    far = open_tun(outside, f"{INSIDE}%d", mtu=mtu)
    block = _take_block(outside, far)
    _address(far, f"{block.outside}/32", [f"{block.outside6}/128"] if has_six else [])
    if has_six:
        outside.ip(f"route add {block.prefix6} dev {far.name}")
    own = [f"{block.inside}/{block.network.prefixlen}"]
    own += [f"{block.inside6}/{96 + block.network.prefixlen}"] if has_six else []
    near = open_tun(inside, INSIDE, own, ["default"], mtu)
    if has_six:
        inside.ip(f"route add ::/0 dev {INSIDE}")
        inside.sysctl("net.ipv6.conf.all.forwarding", 1)
    inside.sysctl("net.ipv4.ip_forward", 1)  # for nested shells
    if asks_for_ecn:
        inside.sysctl("net.ipv4.tcp_ecn", 1)
    if not offload:
        for tun in (near, far):
            tun.namespace.ip(f"link set {tun.name} gso_max_segs 1")
    inside.sysctl("net.ipv4.ping_group_range", f"0 {min(last_gid(), _MOST_GID)}")
    translator = _translate(outside, block) if is_host else None
    limits = _limits(outside, is_host, translator is not None)
    return LinkEnds(inside, outside, near, far, block, is_host, limits, translator)


def _address(tun: Tun, four: str, six: list[str]) -> None:
    tun.namespace.ip(
        f"addr add {four} dev {tun.name}", *(f"addr add {one} dev {tun.name} nodad" for one in six)
    )


def _take_block(outside: Namespace, far: Tun) -> Block:
    """Route the first free block to the device; adding a route twice fails, so no other shell has it."""
    around = None
    for link in json.loads(outside.run(["ip", "-json", "-4", "addr", "show"]).stdout):
        if link.get("ifname") == INSIDE:
            around = next(f"{one['local']}/{one['prefixlen']}" for one in link["addr_info"])
    last = "there is no room for a shell inside this one"
    for block in blocks(around):
        try:
            outside.ip(f"route add {block.prefix} dev {far.name}")
        except RunFailed as error:
            last = str(error)
            if "File exists" in last:
                continue
            raise
        return block
    raise RunFailed(f"no addresses are free: {last}")


def _translate(outside: Namespace, block: Block) -> subprocess.Popen[bytes] | None:
    """Translate addresses from inside to the host's; the kernel removes the rule when the process ends.

    The rule exists when this returns: the kernel would not translate a connection that began before.
    """
    if shutil.which("nft") is None or not _forwards(outside):
        return None
    name = "sojourn_" + block.outside.replace(".", "_")
    rules = (
        f"table ip {name} {{ flags owner; chain out {{ type nat hook postrouting priority srcnat; "
        f"ip saddr {block.prefix} ip daddr != {block.prefix} masquerade; }}; }}\n"
    )
    # The kernel removes a table with an owner when the owning process ends (Linux 5.12).
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = outside.popen(["nft", "-i"], stdin=subprocess.PIPE, start_new_session=True, **silent)
    assert process.stdin is not None
    process.stdin.write(rules.encode())
    process.stdin.flush()
    end = time.monotonic() + LONGEST_NFT_S
    while not _has_table(outside, name):
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            process.wait()
            return None
        time.sleep(0.005)
    return process


def _has_table(outside: Namespace, name: str) -> bool:
    try:
        return name in outside.run(["nft", "list", "tables"]).stdout
    except RunFailed:
        return False


def _forwards(outside: Namespace) -> bool:
    return outside.read("/proc/sys/net/ipv4/ip_forward").strip() == "1"


def _limits(outside: Namespace, is_host: bool, is_translated: bool) -> list[str]:
    """Return the destinations that cannot be reached, each with a remedy."""
    if not is_host:
        return [
            "only the outside end of the link can be reached, and what --peer starts there: "
            "devices on the host itself need root"
        ]
    if any(link["ifname"] == INSIDE for link in json.loads(outside.run(["ip", "-json", "link"]).stdout)):
        return []  # inside another shell, which has printed the limits
    if is_translated:
        return []
    cures = [] if _forwards(outside) else ["sysctl -w net.ipv4.ip_forward=1"]
    cures += [] if shutil.which("nft") else ["installing nft (Debian: nftables)"]
    cures = cures or ["a kernel with nftables and address translation"]
    return [f"no Internet from inside, only this host; to enable it: {' and '.join(cures)}"]
