//! Packets built by hand with an independent checksum, and a gateway between two addresses.

use proptest::test_runner::{Config, RngSeed};
use serde_json::json;
use sojourn_gateway::{Engine, Offload, Plan};

/// The same examples in every run, unless `PROPTEST_RNG_SEED` is set.
pub(crate) fn same() -> Config {
    let default = Config::default();
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let rng_seed = if is_set("PROPTEST_RNG_SEED") { default.rng_seed } else { RngSeed::Fixed(1) };
    let cases = if is_set("PROPTEST_CASES") { default.cases } else { 1000 };
    Config { rng_seed, cases, ..default }
}

/// The Internet checksum over `parts` by its definition: the bytes as one large number modulo 65535 (RFC
/// 1071).
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    let bytes: Vec<u8> = parts.concat();
    let sum = bytes.chunks(2).fold(0u32, |sum, pair| {
        (sum + u32::from(pair[0]) * 256 + u32::from(*pair.get(1).unwrap_or(&0))) % 65_535
    });
    !(sum as u16)
}

/// Whether two checksums are equal; zero has two representations.
pub(crate) fn agree(a: u16, b: u16) -> bool {
    a == b || (a.is_multiple_of(0xffff) && b.is_multiple_of(0xffff))
}

pub(crate) const A4: [u8; 4] = [10, 0, 0, 1];
pub(crate) const B4: [u8; 4] = [10, 0, 1, 1];

/// An IPv4 packet from A to B: traffic class, id, flags and offset, protocol, payload.
pub(crate) fn ipv4(class: u8, id: u16, offset: u16, protocol: u8, body: &[u8]) -> Vec<u8> {
    let mut head = vec![0x45, class];
    head.extend(((20 + body.len()) as u16).to_be_bytes());
    head.extend(id.to_be_bytes());
    head.extend(offset.to_be_bytes());
    head.extend([64, protocol, 0, 0]);
    head.extend(A4);
    head.extend(B4);
    let sum = checksum(&[&head]);
    head[10..12].copy_from_slice(&sum.to_be_bytes());
    [head, body.to_vec()].concat()
}

/// IPv6 addresses that differ in the last byte.
pub(crate) fn six(last: u8) -> [u8; 16] {
    let mut address = [0; 16];
    address[0] = 0xfd;
    address[15] = last;
    address
}

/// An IPv6 packet from fd00::1 to fd00::2.
pub(crate) fn ipv6(class: u8, next: u8, body: &[u8]) -> Vec<u8> {
    let mut head = vec![0x60 | class >> 4, class << 4, 0, 0];
    head.extend((body.len() as u16).to_be_bytes());
    head.extend([next, 64]);
    head.extend(six(1));
    head.extend(six(2));
    [head, body.to_vec()].concat()
}

/// A UDP datagram, without a checksum.
pub(crate) fn udp(from: u16, to: u16, payload: usize) -> Vec<u8> {
    let mut body = [from.to_be_bytes(), to.to_be_bytes()].concat();
    body.extend(((8 + payload) as u16).to_be_bytes());
    body.extend([0, 0]);
    body.resize(8 + payload, 0xab);
    body
}

/// A TCP segment with 12 bytes of options.
pub(crate) fn tcp(from: u16, to: u16, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut body = [from.to_be_bytes(), to.to_be_bytes()].concat();
    body.extend(sequence.to_be_bytes());
    body.extend([0, 0, 0, 7, 0x80, flags, 1, 0, 0, 0, 0, 0]);
    body.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    body.extend(payload);
    body
}

/// A packet as it is read from a device.
pub(crate) fn plain(packet: &[u8]) -> Vec<u8> {
    [&Offload::default().bytes(), packet].concat()
}

/// A gateway between 10.0.0.0/24 (and fd00::1) and 10.0.1.0/24 (and fd00::2), 10 Mbit/s and 5 ms each way;
/// `more` replaces keys of the plan.
pub(crate) fn gateway(aqm: &str, more: serde_json::Value) -> Engine {
    Engine::new(&plan(aqm, more)).expect("a gateway")
}

/// Its plan.
pub(crate) fn plan(aqm: &str, more: serde_json::Value) -> Plan {
    let link = |from: &str, to: &str| {
        json!({"from": from, "to": to, "rate": 10_000_000, "delay": 5_000_000,
               "queue": {"limit": "20p", "aqm": aqm, "ecn": true}})
    };
    let mut plan = json!({
        "devices": [{"name": "left", "fd": -1}, {"name": "right", "fd": -1}],
        "hosts": [
            {"name": "a", "device": 0, "side": "left", "addresses": ["10.0.0.0/24", "fd00::1"]},
            {"name": "b", "device": 1, "side": "right", "addresses": ["10.0.1.0/24", "fd00::2"]},
        ],
        "forward": link("left", "right"),
        "backward": link("right", "left"),
        "measured": 0,
        "rules": [{"name": "tcp-flows", "transport": "tcp"}, {"name": "other"}],
        "mean_packet": 1500,
    });
    for (key, value) in more.as_object().expect("a table") {
        let place = if key == "impairment" { &mut plan["forward"] } else { &mut plan };
        place[key] = value.clone();
    }
    serde_json::from_value(plan).expect("a plan")
}
