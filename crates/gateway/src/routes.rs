//! The host of an address, by longest-prefix match, with a map for each prefix length. Testbeds have hundreds
//! of hosts, usually of one prefix length.

use crate::packet::mapped;
use std::{collections::BTreeMap, net::IpAddr};

/// An address prefix: its bits and its length, as IPv6 (of 128 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    bits: u128,
    length: u32,
}

impl Prefix {
    /// Parse `10.0.0.1`, `10.0.0.0/24`, `fd00::/8`.
    pub(crate) fn parse(text: &str) -> Option<Prefix> {
        let (address, length) = text.split_once('/').map_or((text, None), |(a, n)| (a, Some(n)));
        let (bits, max_length) = match address.parse().ok()? {
            IpAddr::V4(v4) => (mapped(v4.octets()), 32),
            IpAddr::V6(v6) => (u128::from(v6), 128),
        };
        let length = length.map_or(Some(max_length), |n| n.parse().ok().filter(|n| *n <= max_length))?;
        let length = 128 - max_length + length;
        Some(Prefix { bits: bits & Prefix::mask(length), length })
    }

    fn mask(length: u32) -> u128 {
        if length == 0 { 0 } else { u128::MAX << (128 - length) }
    }

    pub(crate) fn contains(&self, address: u128) -> bool {
        address & Prefix::mask(self.length) == self.bits
    }
}

/// A routing table.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Prefix lengths in descending order, each with the hosts of its prefixes.
    lengths: Vec<(u32, BTreeMap<u128, u32>)>,
}

impl Routes {
    /// Route `prefix` to `host`, unless it is routed already.
    pub(crate) fn add(&mut self, prefix: Prefix, host: u32) {
        let index = match self.lengths.binary_search_by(|(length, _)| prefix.length.cmp(length)) {
            Ok(index) => index,
            Err(index) => {
                self.lengths.insert(index, (prefix.length, BTreeMap::new()));
                index
            }
        };
        self.lengths[index].1.entry(prefix.bits).or_insert(host);
    }

    /// The host of an address.
    pub(crate) fn host(&self, address: u128) -> Option<u32> {
        self.lengths.iter().find_map(|(length, hosts)| hosts.get(&(address & Prefix::mask(*length)))).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Addresses and prefixes that match often: only a few bits at both ends vary.
    fn near() -> impl Strategy<Value = u128> {
        (0u128..8, 0u128..8).prop_map(|(high, low)| high << 125 | low)
    }

    proptest! {
        #[test]
        fn the_longest_matching_prefix_wins(
            prefixes in prop::collection::vec((near(), 0u32..=128), 0..20),
            address in near(),
        ) {
            let known: Vec<Prefix> = prefixes
                .iter()
                .map(|(bits, length)| Prefix { bits: bits & Prefix::mask(*length), length: *length })
                .collect();
            let mut routes = Routes::default();
            for (number, prefix) in known.iter().enumerate() {
                routes.add(*prefix, number as u32);
            }
            let best = known.iter().enumerate().filter(|(_, prefix)| prefix.contains(address));
            let want = best.min_by_key(|(number, prefix)| (128 - prefix.length, *number));
            prop_assert_eq!(routes.host(address), want.map(|(number, _)| number as u32));
        }
    }
}
