"""Addresses of a shell's link, from ranges that no network uses: 198.18.0.0/15 and a unique local prefix.

A block's first address is the outside end, its second the inside end. The rest is for nested shells: each
takes a sixteenth of the enclosing block, so that longest-prefix matching routes through all of them without
translation.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

#: Reserved for benchmarks of network devices (RFC 2544), so not routed in the Internet.
WHOLE = ipaddress.IPv4Network("198.18.0.0/15")
#: A unique local prefix (RFC 4193), the letters "sojou"; the last 32 bits hold the IPv4 address.
WHOLE6 = ipaddress.IPv6Address("fd73:6f6a:6f75::")
SMALLEST = 30


@dataclass(frozen=True)
class Block:
    """The addresses of one shell.

    Examples
    --------
    >>> block = next(blocks(None))
    >>> block.outside, block.inside, block.prefix
    ('198.18.16.1', '198.18.16.2', '198.18.16.0/20')
    >>> block.outside6, block.prefix6
    ('fd73:6f6a:6f75::c612:1001', 'fd73:6f6a:6f75::c612:1000/116')
    >>> [one.prefix for one in blocks("198.18.16.2/20")][:2]
    ['198.18.17.0/24', '198.18.18.0/24']
    """

    network: ipaddress.IPv4Network

    @property
    def prefix(self) -> str:
        """The whole block."""
        return str(self.network)

    @property
    def prefix6(self) -> str:
        """The whole block, for IPv6."""
        return f"{self._six(0)}/{96 + self.network.prefixlen}"

    @property
    def outside(self) -> str:
        """The outside end."""
        return str(self.network[1])

    @property
    def inside(self) -> str:
        """The inside end."""
        return str(self.network[2])

    @property
    def outside6(self) -> str:
        """The outside end, for IPv6."""
        return self._six(1)

    @property
    def inside6(self) -> str:
        """The inside end, for IPv6."""
        return self._six(2)

    def _six(self, i: int) -> str:
        return str(WHOLE6 + int(self.network[i]))


def blocks(around: str | None) -> Iterator[Block]:
    """Yield the blocks that a shell may use, inside that of the shell `around` it (``ADDRESS/LENGTH``)."""
    if around is None:
        parent, length = WHOLE, 20
    else:
        parent = ipaddress.IPv4Network(around, strict=False)
        length = min(parent.prefixlen + 4, SMALLEST)
    if length <= parent.prefixlen:
        return
    for i, network in enumerate(parent.subnets(new_prefix=length)):
        if i:
            yield Block(network)
