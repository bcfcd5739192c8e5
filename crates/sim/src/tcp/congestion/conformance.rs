//! What every congestion control must do, independently of what happens to its packets. The list is that of
//! the schema, so a new one is tested without a change here.
//!
//! Seen to fail: Westwood+ without its least window of two packets, so 0 at the end of a recovery.

use super::*;
use crate::tcp::{options::Variant, rate::RateSample, schema};
use proptest::prelude::*;

/// A call of a hook, with random content.
#[derive(Clone, Debug)]
enum Call {
    Ack { packets: u32, rtt_us: Option<u64>, ece: bool, has_sack: bool },
    Model { acked: u32, losses: u32, interval_us: Option<u64>, in_flight: u32 },
    Grow { packets: u32, is_limited: bool },
    Event(CongestionEvent),
    Phase(Phase),
    Recovered,
    Send { nothing_in_flight: bool },
    Restart,
    AppLimited,
}

fn call() -> impl Strategy<Value = Call> {
    let rtt =
        prop::sample::select(vec![None, Some(0), Some(1), Some(40_000), Some(90_000), Some(3_600_000_000)]);
    let packets = prop::sample::select(vec![0u32, 1, 2, 2, 10, 50]);
    prop_oneof![
        4 => (packets.clone(), rtt.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(packets, rtt_us, ece, has_sack)| Call::Ack { packets, rtt_us, ece, has_sack }),
        4 => (packets.clone(), 0u32..4, rtt, 0u32..300).prop_map(|(acked, losses, interval_us, in_flight)| {
            Call::Model { acked, losses, interval_us: interval_us.filter(|us| *us > 0), in_flight }
        }),
        4 => (packets, any::<bool>()).prop_map(|(packets, is_limited)| Call::Grow { packets, is_limited }),
        1 => prop::sample::select(vec![CongestionEvent::Loss, CongestionEvent::Mark, CongestionEvent::Timeout])
            .prop_map(Call::Event),
        1 => prop::sample::select(vec![Phase::Open, Phase::Cwr, Phase::Recovery, Phase::Loss]).prop_map(Call::Phase),
        1 => Just(Call::Recovered),
        1 => any::<bool>().prop_map(|nothing_in_flight| Call::Send { nothing_in_flight }),
        1 => Just(Call::Restart),
        1 => Just(Call::AppLimited),
    ]
}

/// A connection that makes these calls.
#[derive(Clone, Debug)]
struct Driver {
    control: Control,
    now: Time,
    cwnd: f64,
    ssthresh: f64,
    una: u32,
    delivered: u32,
    lost: u32,
    phase: Phase,
    sets_window: bool,
}

impl Driver {
    fn new(o: &TcpOptions, begin: Time) -> Driver {
        let mut control = Control::new(o, 1448, |purpose| Stream::new(1, purpose));
        control.on_open(&OpenEvent {
            now: begin,
            cwnd: 10,
            srtt_us: 40_000,
            min_rtt_us: Some(40_000),
            delivered: 1,
        });
        let (una, delivered, sets_window) = (1, 1, o.variant.sets_window());
        Driver {
            control,
            now: begin,
            cwnd: 10.0,
            ssthresh: 2172.0,
            una,
            delivered,
            lost: 0,
            phase: Phase::Open,
            sets_window,
        }
    }

    fn call(&mut self, call: &Call, ms: u64) {
        self.now += Span::from_millis(ms);
        let Driver { now, una, cwnd, ssthresh, .. } = *self;
        let nxt = una + cwnd as u32;
        match *call {
            Call::Ack { packets, rtt_us, ece, has_sack } => {
                self.una += packets;
                let rtt = rtt_us.map(|us| Span(us * 1000));
                let is_slow_start = cwnd < ssthresh;
                let una = self.una;
                let ack = AckEvent {
                    packets,
                    has_sack,
                    marked: if ece { packets } else { 0 },
                    una,
                    nxt: nxt.max(una),
                    now,
                    rtt,
                    one_way: rtt,
                    cwnd,
                    is_slow_start,
                };
                if self.control.on_ack(&ack) {
                    self.ssthresh = cwnd;
                }
            }
            Call::Model { acked, losses, interval_us, in_flight } if self.sets_window => {
                let prior_delivered = self.delivered - self.delivered.min(in_flight);
                self.delivered += acked;
                self.lost += losses;
                let delivered = (acked > 0).then(|| self.delivered - prior_delivered);
                let rate = RateSample {
                    delivered,
                    interval_us: interval_us.filter(|_| acked > 0),
                    prior_delivered,
                    is_app_limited: false,
                    acked,
                    losses,
                    rtt_us: interval_us,
                };
                let event = ModelEvent {
                    now,
                    rate,
                    delivered: self.delivered,
                    lost: self.lost,
                    delivered_at: now,
                    prior_in_flight: in_flight + acked,
                    in_flight,
                    phase: self.phase,
                    cwnd: cwnd as u32,
                    ssthresh,
                    is_limited: losses % 2 == 0,
                    srtt_us: 40_000,
                    next_send: now,
                };
                let decision = self.control.on_model(&event);
                (self.cwnd, self.ssthresh) = (decision.cwnd, decision.ssthresh);
            }
            Call::Grow { packets, is_limited } if !self.sets_window && packets > 0 => {
                let growth =
                    GrowEvent { now, cwnd, ssthresh, packets: f64::from(packets), una, nxt, is_limited };
                if let Some(windows) = self.control.grow_itself(&growth) {
                    (self.cwnd, self.ssthresh) = windows;
                } else if is_limited {
                    self.cwnd = self.control.grow(cwnd, ssthresh, packets, now, 40e6);
                }
                self.cwnd = self.cwnd.min(10_000.0);
            }
            Call::Event(event) => {
                let reduced = self.control.reduced(cwnd);
                assert!(reduced <= cwnd && reduced >= 0.0, "{reduced} of {cwnd}");
                self.ssthresh = self.control.ssthresh(event, cwnd, cwnd);
                assert!(self.ssthresh >= 2.0 && self.ssthresh.is_finite(), "ssthresh {}", self.ssthresh);
                if event == CongestionEvent::Timeout {
                    let (delivered, lost) = (self.delivered, self.lost);
                    let timeout = TimeoutEvent { now, nxt, delivered, lost, delivered_at: now };
                    self.control.on_timeout(&timeout);
                    (self.cwnd, self.phase) = (1.0, Phase::Loss);
                } else if !self.sets_window {
                    self.cwnd = self.ssthresh.min(cwnd);
                }
            }
            Call::Phase(phase) => {
                self.phase = phase;
                self.control.on_phase(phase, nxt);
            }
            Call::Recovered => {
                if let Some(window) = self.control.on_recovered() {
                    (self.ssthresh, self.cwnd) = (window, window.min(10_000.0));
                }
            }
            Call::Send { nothing_in_flight } => self.control.on_send(now, nothing_in_flight),
            Call::Restart if self.sets_window => {
                self.cwnd =
                    self.control.on_restart(&RestartEvent { now, cwnd: cwnd as u32, srtt_us: 40_000 });
            }
            Call::AppLimited => self.control.on_app_limited(),
            Call::Model { .. } | Call::Grow { .. } | Call::Restart => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    /// Windows are finite and at least one packet, and a copy decides the same.
    #[test]
    fn every_congestion_control_keeps_the_contract(
        calls in prop::collection::vec((call(), prop::sample::select(vec![0u64, 1, 3, 50, 20_000])), 1..120),
        begin in prop::sample::select(vec![0u64, 1, 1 << 40, 1 << 53]),
        preset in prop::sample::select(vec!["linux", "rfc", "ns2"]),
    ) {
        for variant in Variant::WORDS {
            let set = [("variant".to_owned(), (*variant).to_owned())];
            let mut one = Driver::new(&schema::resolve(preset, &set).unwrap(), Time(begin));
            let mut two = one.clone();
            for (call, ms) in &calls {
                one.call(call, *ms);
                two.call(call, *ms);
                prop_assert!(one.cwnd.is_finite() && one.cwnd >= 1.0, "{variant}: {} after {call:?}", one.cwnd);
                prop_assert_eq!((one.cwnd, one.ssthresh), (two.cwnd, two.ssthresh), "{}", variant);
                prop_assert_eq!(one.control.pacing_interval(), two.control.pacing_interval());
            }
            prop_assert_eq!(format!("{:?}", one), format!("{:?}", two));
        }
    }
}
