//! One turn of a device: packets are read from it until it is empty, the share of a turn is used, or an event
//! is late at the arrival of a packet.
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

    /// When a packet arrived that was read at `now`, and whether the kernel reported that.
    fn arrival(&mut self, bytes: &[u8], now: Time) -> (Time, bool);

    /// A read at `now` found no packet.
    fn on_empty(&mut self, now: Time);
}

impl Source for Device {
    fn read(&mut self, into: &mut [u8]) -> ReadResult {
        Device::read(self, into)
    }
    fn arrival(&mut self, bytes: &[u8], now: Time) -> (Time, bool) {
        Device::arrival(self, bytes, now)
    }
    fn on_empty(&mut self, now: Time) {
        Device::on_empty(self, now);
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// No packet was left, or the run has ended.
    Emptied,
    /// Packets may be left, which arrived not before this time.
    Unfinished(Time),
    /// The device was deleted.
    Gone,
}

/// Read the packets of one turn into the engine, until `end`.
pub(crate) fn take(
    engine: &mut Engine,
    source: &mut impl Source,
    buffer: &mut [u8],
    end: Time,
    clock: impl Fn() -> Time,
) -> Turn {
    let last = engine.stats().read + SHARE;
    loop {
        let length = match source.read(buffer) {
            ReadResult::Bytes(length) => length,
            ReadResult::Empty => {
                source.on_empty(clock());
                return Turn::Emptied;
            }
            ReadResult::Gone => return Turn::Gone,
        };
        let now = clock();
        let (arrived, is_reported) = source.arrival(&buffer[..length], now);
        if arrived >= end {
            return Turn::Emptied;
        }
        engine.on_wait(now - arrived, is_reported);
        engine.on_read(arrived, &buffer[..length]);
        let is_late = engine.next_deadline().is_some_and(|deadline| deadline < arrived);
        if is_late || engine.stats().read >= last {
            return Turn::Unfinished(arrived);
        }
    }
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
        fn arrival(&mut self, _: &[u8], now: Time) -> (Time, bool) {
            (now, false)
        }
        fn on_empty(&mut self, _: Time) {}
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
        engine_with_limit("1000p")
    }

    fn engine_with_limit(limit: &str) -> Engine {
        let link = |from: &str, to: &str| {
            json!({"from": from, "to": to, "rate": 1_000_000_000, "delay": 5_000_000,
                   "queue": {"limit": limit, "aqm": "droptail"}})
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
                    assert_ne!(take(&mut engine, source, &mut buffer, Time::NEVER, clock), Turn::Gone);
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

    /// Packets that arrived 1 ms apart while the reader was stopped: 50 would not fit into the queue at once.
    #[test]
    fn packets_enter_when_they_arrived_however_late_they_are_read() {
        struct Waiting {
            packet: Vec<u8>,
            next: u64,
        }
        impl Source for Waiting {
            fn read(&mut self, into: &mut [u8]) -> ReadResult {
                if self.next == 50 {
                    return ReadResult::Empty;
                }
                self.next += 1;
                into[..self.packet.len()].copy_from_slice(&self.packet);
                ReadResult::Bytes(self.packet.len())
            }
            fn arrival(&mut self, _: &[u8], _: Time) -> (Time, bool) {
                (Time(self.next * 1_000_000), true)
            }
            fn on_empty(&mut self, _: Time) {}
        }
        let mut engine = engine_with_limit("10p");
        let packet = packet(0, 1, 50, Offload::default(), &[0; 105]);
        let (mut source, now) = (Waiting { packet, next: 0 }, Time(60_000_000));
        let mut deliveries = Vec::new();
        let mut turn = Turn::Unfinished(Time::ZERO);
        while turn != Turn::Emptied {
            turn = take(&mut engine, &mut source, &mut [0; 200], Time::NEVER, || now);
            let settled = if let Turn::Unfinished(arrived) = turn { arrived } else { now };
            engine.catch_up(settled, now, &mut |_, _, time| {
                deliveries.push(time.0);
                Some(now - time)
            });
        }
        // 125 bytes at 1 Gbit/s are 1 us, the delay is 5 ms.
        let expected: Vec<u64> = (1..=50).map(|ms| ms * 1_000_000 + 5_001_000).collect();
        assert_eq!(deliveries, expected);
        let result = engine.finish(now).expect("packets are conserved");
        assert_eq!((result.stats.dropped, result.stats.unreported), (0, 0));
        let (edges, counts) = result.waiting;
        assert_eq!(counts.iter().sum::<u64>(), 50);
        assert!(edges[0] <= 10_000_000 && (58_000_000..=59_000_000).contains(&edges[edges.len() - 1]));
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
        assert_eq!(take(&mut engine, &mut flood, &mut [0; 100], Time(5), || Time(5)), Turn::Emptied);
        assert_eq!((flood.left, engine.stats().read), (999_999, 0));
        struct Gone;
        impl Source for Gone {
            fn arrival(&mut self, _: &[u8], now: Time) -> (Time, bool) {
                (now, false)
            }
            fn on_empty(&mut self, _: Time) {}
            fn read(&mut self, _: &mut [u8]) -> ReadResult {
                ReadResult::Gone
            }
        }
        assert_eq!(take(&mut engine, &mut Gone, &mut [0; 100], Time(5), || Time(0)), Turn::Gone);
    }
}
