//! Which host has an address: the longest prefix that holds it, found in a map for each length there is. Testbeds have
//! hundreds of hosts, all of one length.

use crate::packet::mapped;
use std::{collections::BTreeMap, net::IpAddr};

/// A prefix of addresses: its bits, and how many of 128 count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    bits: u128,
    length: u32,
}

impl Prefix {
    /// Read `10.0.0.1`, `10.0.0.0/24`, `fd00::/8`.
    pub(crate) fn read(text: &str) -> Option<Prefix> {
        let (address, length) = text.split_once('/').map_or((text, None), |(a, n)| (a, Some(n)));
        let (bits, most) = match address.parse().ok()? {
            IpAddr::V4(v4) => (mapped(v4.octets()), 32),
            IpAddr::V6(v6) => (u128::from(v6), 128),
        };
        let length = length.map_or(Some(most), |n| n.parse().ok().filter(|n| *n <= most))?;
        let length = 128 - most + length;
        Some(Prefix { bits: bits & Prefix::mask(length), length })
    }

    fn mask(length: u32) -> u128 {
        if length == 0 { 0 } else { u128::MAX << (128 - length) }
    }

    pub(crate) fn holds(&self, address: u128) -> bool {
        address & Prefix::mask(self.length) == self.bits
    }
}

/// Hosts by their prefixes.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Longest first: the length, and the host of each prefix that has it.
    lengths: Vec<(u32, BTreeMap<u128, u32>)>,
}

impl Routes {
    /// Let `host` have what `prefix` holds, unless another has the same prefix.
    pub(crate) fn add(&mut self, prefix: Prefix, host: u32) {
        let place = match self.lengths.binary_search_by(|(length, _)| prefix.length.cmp(length)) {
            Ok(place) => place,
            Err(place) => {
                self.lengths.insert(place, (prefix.length, BTreeMap::new()));
                place
            }
        };
        self.lengths[place].1.entry(prefix.bits).or_insert(host);
    }

    /// The host that has an address.
    pub(crate) fn host(&self, address: u128) -> Option<u32> {
        self.lengths.iter().find_map(|(length, hosts)| hosts.get(&(address & Prefix::mask(*length)))).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Addresses and prefixes that often meet: few bits differ, at either end.
    fn near() -> impl Strategy<Value = u128> {
        (0u128..8, 0u128..8).prop_map(|(high, low)| high << 125 | low)
    }

    proptest! {
        #[test]
        fn the_longest_prefix_that_holds_an_address_has_it(
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
            let best = known.iter().enumerate().filter(|(_, prefix)| prefix.holds(address));
            let want = best.min_by_key(|(number, prefix)| (128 - prefix.length, *number));
            prop_assert_eq!(routes.host(address), want.map(|(number, _)| number as u32));
        }
    }
}
