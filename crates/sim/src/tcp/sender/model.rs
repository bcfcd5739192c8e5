//! Congestion controls that set the window themselves: their rate samples, and what they decide.

use super::{Extensions, Sender};
use crate::tcp::{
    congestion::{ModelEvent, OpenEvent, RestartEvent, TimeoutEvent},
    options::TcpOptions,
    rack::Delivery,
    rate::Delivered,
};
use sojourn_aqm::Time;

/// What an ACK has done to the packets in flight.
pub(super) struct AckedFlight {
    pub(super) delivery: Delivery,
    /// Packets in flight before it, and packets marked lost before it, in all.
    pub(super) prior_in_flight: u32,
    pub(super) prior_lost: u32,
}

impl Sender {
    fn srtt_us(&self, o: &TcpOptions) -> u64 {
        (self.rto.srtt_ns(o) / 1000.0) as u64
    }

    /// The connection is established, with its initial window.
    pub(super) fn open_control(&mut self, o: &TcpOptions, now: Time) {
        let (srtt_us, cwnd) = (self.srtt_us(o), self.cwnd as u32);
        let Some(Extensions { control, sampler, .. }) = self.try_extensions_mut() else { return };
        let (min_rtt_us, delivered) =
            sampler.as_ref().map_or((None, 0), |sampler| (sampler.min_rtt_us(), sampler.delivered));
        control.on_open(&OpenEvent { now, cwnd, srtt_us, min_rtt_us, delivered });
    }

    /// Sample the delivery rate of an ACK, and set the window as the congestion control decides. `opens`: it
    /// is the ACK of a SYN, which sets the initial window.
    pub(super) fn apply_model(&mut self, o: &TcpOptions, acked: &AckedFlight, opens: bool, now: Time) {
        let AckedFlight { delivery, prior_in_flight, prior_lost } = *acked;
        let (una, cwnd, ssthresh, srtt_us) = (self.una, self.cwnd as u32, self.ssthresh, self.srtt_us(o));
        let is_limited = self.is_cwnd_limited(o, prior_in_flight);
        let Extensions { control, sampler, pacer, rack_tlp, .. } = self.extensions();
        let Some(rack_tlp) = rack_tlp else { return };
        let (lost, in_flight) = (rack_tlp.rack.lost(), rack_tlp.rack.pipe());
        let acked = Delivered {
            newest: (delivery.packets > 0).then_some(delivery.newest),
            packets: delivery.packets,
            losses: lost - prior_lost,
            rtt: delivery.latest.map(|sent| now - sent),
        };
        let rate = sampler.as_mut().map(|sampler| sampler.on_ack(una, &acked, now)).unwrap_or_default();
        if opens {
            return self.open_control(o, now);
        }
        let (delivered, delivered_at) =
            sampler.as_ref().map_or((0, Time::ZERO), |sampler| (sampler.delivered, sampler.delivered_at));
        let next_send = pacer.as_ref().map_or(now, |pacer| pacer.next());
        let phase = rack_tlp.ca_state;
        let decision = control.on_model(&ModelEvent {
            now,
            rate,
            delivered,
            lost,
            delivered_at,
            prior_in_flight,
            in_flight,
            phase,
            cwnd,
            ssthresh,
            is_limited,
            srtt_us,
            next_send,
        });
        if decision.is_limited
            && let Some(sampler) = sampler
        {
            sampler.limit_by_app(in_flight);
        }
        (self.cwnd, self.ssthresh) = (decision.cwnd, decision.ssthresh);
    }

    /// Packet `sequence` is sent, before its pacing; `is_idle`: no other is outstanding.
    pub(super) fn sample_send(&mut self, o: &TcpOptions, sequence: u32, is_idle: bool, now: Time) {
        let (cwnd, srtt_us) = (self.cwnd as u32, self.srtt_us(o));
        let Extensions { control, sampler, .. } = self.extensions();
        let Some(sampler) = sampler else { return };
        let restarts = is_idle && sampler.is_app_limited();
        let restarted = restarts.then(|| control.on_restart(&RestartEvent { now, cwnd, srtt_us }));
        sampler.on_send(sequence, is_idle, now);
        if let Some(cwnd) = restarted {
            self.cwnd = cwnd;
            self.update_pacing(o);
        }
    }

    /// The application is about to write: rate samples are limited by it if there was nothing to send.
    pub(super) fn note_app_limit(&mut self) {
        let (has_sent_all, window) = (self.nxt >= self.end, self.cwnd as u32);
        let Some(Extensions { sampler: Some(sampler), rack_tlp: Some(rack_tlp), .. }) =
            self.try_extensions_mut()
        else {
            return;
        };
        let in_flight = rack_tlp.rack.pipe();
        if has_sent_all && in_flight < window && !rack_tlp.rack.awaits_retransmission() {
            sampler.limit_by_app(in_flight);
        }
    }

    /// The retransmission timer expired.
    pub(super) fn report_timeout(&mut self, nxt: u32, now: Time) {
        let Some(Extensions { control, sampler, rack_tlp, .. }) = self.try_extensions_mut() else { return };
        let lost = rack_tlp.as_ref().map_or(0, |rack_tlp| rack_tlp.rack.lost());
        let (delivered, delivered_at) =
            sampler.as_ref().map_or((0, Time::ZERO), |sampler| (sampler.delivered, sampler.delivered_at));
        control.on_timeout(&TimeoutEvent { now, nxt, delivered, lost, delivered_at });
    }
}
