//! One turn of a device: packets are read from it until it is empty, the share of a turn is used, or an event
//! is late.
//!
//! Devices take turns, so a flood at one of them delays the packets of another by at most its share per turn,
//! independently of the contents of its packets. A flooded device loses packets in its queue in the kernel.

use crate::{
    device::{Device, ReadResult},
    engine::Engine,
};
use sojourn_aqm::Time;

/// Packets per turn; a super-packet counts as its segments, and the last one may exceed the share.
const SHARE: u64 = 128;

/// A source of packets.
pub(crate) trait Source {
    /// Read a packet or a super-packet.
    fn read(&mut self, into: &mut [u8]) -> ReadResult;
}

impl Source for Device {
    fn read(&mut self, into: &mut [u8]) -> ReadResult {
        Device::read(self, into)
    }
}

/// Read the packets of one turn into the engine, until `end`; returns whether the device was deleted.
pub(crate) fn take(
    engine: &mut Engine,
    source: &mut impl Source,
    buffer: &mut [u8],
    end: Time,
    clock: impl Fn() -> Time,
) -> bool {
    let last = engine.stats().read + SHARE;
    while engine.stats().read < last {
        let length = match source.read(buffer) {
            ReadResult::Bytes(length) => length,
            ReadResult::Empty => return false,
            ReadResult::Gone => return true,
        };
        let now = clock();
        if now >= end {
            return false;
        }
        engine.on_read(now, &buffer[..length]);
        if engine.next_deadline().is_some_and(|deadline| deadline < now) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::Plan, segment::MAX_SEGMENTS, segment::Offload};
    use serde_json::json;
    use sojourn_aqm::Span;
    use std::cell::Cell;

    /// A device with a number of equal packets.
    struct Packets {
        bytes: Vec<u8>,
        left: u64,
    }

    impl Source for Packets {
        fn read(&mut self, into: &mut [u8]) -> ReadResult {
            if self.left == 0 {
                return ReadResult::Empty;
            }
            self.left -= 1;
            into[..self.bytes.len()].copy_from_slice(&self.bytes);
            ReadResult::Bytes(self.bytes.len())
        }
    }

    fn engine() -> Engine {
        let link = |from: &str, to: &str| {
            json!({"from": from, "to": to, "rate": 1_000_000_000, "delay": 5_000_000,
                   "queue": {"limit": "1000p", "aqm": "droptail"}})
        };
        let plan: Plan = serde_json::from_value(json!({
            "devices": [{"name": "left", "fd": -1}, {"name": "right", "fd": -1}],
            "hosts": [
                {"name": "a", "device": 0, "side": "left", "addresses": ["10.0.0.0/24"]},
                {"name": "b", "device": 1, "side": "right", "addresses": ["10.0.1.0/24"]},
            ],
            "forward": link("left", "right"), "backward": link("right", "left"),
            "rules": [{"name": "all"}], "mean_packet": 1500,
        }))
        .expect("a plan");
        Engine::new(&plan).expect("a gateway")
    }

    /// A packet between the hosts, as it is read from a device.
    fn packet(from: u8, to: u8, protocol: u8, offload: Offload, body: &[u8]) -> Vec<u8> {
        let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, from, 1, 10, 0, to, 1];
        ip[2..4].copy_from_slice(&((20 + body.len()) as u16).to_be_bytes());
        [&offload.bytes()[..], &ip, body].concat()
    }

    /// A TCP super-packet of segments of `size` bytes.
    fn super_packet(segments: usize, size: u16) -> Vec<u8> {
        let mut tcp = [0; 20].to_vec();
        tcp[12] = 0x50;
        tcp.resize(20 + segments * usize::from(size), 0);
        packet(0, 1, 6, Offload { kind: 1, segment: size, ..Offload::default() }, &tcp)
    }

    #[test]
    fn a_flood_delays_the_other_direction_by_one_share() {
        let plain = Offload::default();
        let floods = [
            ("malformed", vec![0; 11]),
            ("tiny", packet(0, 1, 50, plain, &[])),
            ("unroutable", packet(7, 8, 17, plain, &[0, 1, 0, 2, 0, 8, 0, 0])),
            ("super-packets", super_packet(45, 1400)),
            ("super-packets of tiny segments", super_packet(1300, 48)),
        ];
        for (name, bytes) in floods {
            let mut engine = engine();
            let mut flood = Packets { bytes, left: 1_000_000 };
            let mut other = Packets { bytes: packet(1, 0, 17, plain, &[0, 1, 0, 2, 0, 8, 0, 0]), left: 0 };
            // Each packet takes 5 us, ten times the real time.
            let time = Cell::new(0);
            let mut buffer = vec![0; 65_536 + 522];
            let (mut delivered, mut worst) = (0u64, 0);
            for _ in 0..100 {
                other.left += 1;
                let mut write = |device: u32, _: &[u8], due: Time| {
                    let late = Time(time.get()) - due;
                    delivered += u64::from(device == 0);
                    worst = worst.max(late.0);
                    Some(late)
                };
                engine.advance(Time(time.get()), &mut write);
                for source in [&mut flood, &mut other] {
                    let before = engine.stats().read;
                    let clock = || {
                        time.set(time.get() + 5_000);
                        Time(time.get())
                    };
                    assert!(!take(&mut engine, source, &mut buffer, Time::NEVER, clock));
                    let taken = engine.stats().read - before;
                    assert!(taken < SHARE + MAX_SEGMENTS as u64, "{name}: {taken}");
                    time.set(time.get() + 5_000 * taken);
                }
                assert_eq!(other.left, 0, "{name}: the other device's packet is read in every round");
            }
            assert!(flood.left > 900_000, "{name}");
            engine.advance(Time(time.get() + 10_000_000), &mut |device, _, _| {
                delivered += u64::from(device == 0);
                Some(Span::ZERO)
            });
            assert_eq!(delivered, 100, "{name}: all packets of the other direction arrive");
            let bound = 5_000 * 2 * (SHARE + MAX_SEGMENTS as u64);
            assert!(worst <= bound, "{name}: {worst} ns late");
        }
    }

    #[test]
    fn memory_is_limited_to_the_packets_in_the_gateway() {
        let mut engine = engine();
        let tiny = packet(0, 1, 50, Offload::default(), &[]);
        let mut at = |rounds: std::ops::Range<u64>| {
            for round in rounds {
                let now = Time(round * 1_000);
                engine.advance(now, &mut |_, _, _| Some(Span::ZERO));
                let mut flood = Packets { bytes: tiny.clone(), left: 20 };
                take(&mut engine, &mut flood, &mut [0; 100], Time::NEVER, || now);
            }
            engine.slots()
        };
        // 20 packets of 20 bytes per microsecond: three times the rate of the link.
        let inside = at(0..10_000);
        assert!(
            (30_000..40_000).contains(&inside),
            "the packets of 5 ms on the link, and a full queue: {inside}"
        );
        assert_eq!(at(10_000..20_000), inside, "departed packets use no memory");
    }

    #[test]
    fn a_turn_ends_with_the_run_and_with_the_device() {
        let mut engine = engine();
        let mut flood = Packets { bytes: vec![0; 11], left: 1_000_000 };
        assert!(!take(&mut engine, &mut flood, &mut [0; 100], Time(5), || Time(5)));
        assert_eq!((flood.left, engine.stats().read), (999_999, 0));
        struct Gone;
        impl Source for Gone {
            fn read(&mut self, _: &mut [u8]) -> ReadResult {
                ReadResult::Gone
            }
        }
        assert!(take(&mut engine, &mut Gone, &mut [0; 100], Time(5), || Time(0)));
    }
}
