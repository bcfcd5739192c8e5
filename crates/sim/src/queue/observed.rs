//! A queue whose packets are recorded one by one. It wraps the queue, so that a run that records nothing does
//! nothing for it.

use super::{Backend, Fifo, QueueStats, QueuedPacket, stats::Outcome};
use crate::{packet::Packet, record::PacketColumns};
use sojourn_aqm::{Cause, Ecn, Time};

/// What has been recorded of a queue.
#[derive(Default)]
pub(crate) struct Observations {
    /// The log of packets, if it is kept.
    pub(crate) packets: Option<PacketColumns>,
    /// Bytes of data that the queue has handed to the transmitter, by the number of the flow.
    pub(crate) carried: Vec<u64>,
    /// The states of the algorithm, if they are kept.
    pub(crate) states: Option<States>,
}

/// The probes of the algorithm after each arrival and departure that was logged.
#[derive(Clone, Debug, Default)]
pub struct States {
    /// Names of the probes.
    pub names: Vec<String>,
    /// Values, with the number of rows of the log until then.
    pub values: Vec<(usize, Vec<f64>)>,
}

/// What happened to a packet at a queue. The order is that of the codes in records.
#[derive(Clone, Copy)]
pub(crate) enum PacketEvent {
    /// It arrived, and waits.
    Enqueue,
    /// The transmitter has taken it.
    Dequeue,
    /// It was dropped, as it arrived or later.
    Drop,
    /// It was marked; its arrival or departure follows.
    Mark,
}

/// A queue and what was recorded of it.
pub(super) struct Observed {
    pub(super) queue: Backend,
    pub(super) seen: Observations,
}

impl Observed {
    pub(super) fn new(queue: Backend, packets: bool) -> Observed {
        let packets = packets.then(PacketColumns::default);
        Observed { queue, seen: Observations { packets, ..Observations::default() } }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn taken(&self, slot: usize) -> &QueuedPacket {
        self.queue.taken(slot)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn probe(&self, field: &mut dyn FnMut(&str, f64)) {
        self.queue.probe(field);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn next_timer(&self) -> Option<Time> {
        self.queue.next_timer()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn backlog(&self) -> (u32, u64) {
        self.queue.backlog()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn fifo(&mut self) -> Option<&mut Fifo> {
        self.queue.fifo()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn enqueue(&mut self, now: Time, packet: &mut Packet, stats: &mut QueueStats) -> bool {
        let just_waits = self.queue.enqueue(now, packet, stats);
        let (arrival, waiting) = (stats.latest(), self.queue.backlog().0);
        let is_dropped = self.seen.outcomes(now, waiting, stats, arrival);
        if !is_dropped {
            self.seen.log(now, waiting, PacketEvent::Enqueue, None, arrival, packet);
        }
        self.note_state();
        just_waits
    }

    #[cold]
    #[inline(never)]
    pub(super) fn dequeue(&mut self, now: Time, stats: &mut QueueStats) -> Option<usize> {
        let slot = self.queue.dequeue(now, stats);
        let waiting = self.queue.backlog().0;
        self.seen.outcomes(now, waiting, stats, u64::MAX);
        if let Some(slot) = slot {
            let taken = self.queue.taken(slot);
            self.seen.log(now, waiting, PacketEvent::Dequeue, None, taken.number, &taken.packet);
            self.seen.carry(&taken.packet);
        }
        self.note_state();
        slot
    }

    fn note_state(&mut self) {
        let Observations { packets: Some(packets), states: Some(states), .. } = &mut self.seen else {
            return;
        };
        let rows = packets.time_ns.len();
        if states.values.last().map_or(0, |(until, _)| *until) == rows {
            return; // nothing happened: the queue was empty
        }
        let (mut names, mut values) = (Vec::new(), Vec::new());
        self.queue.probe(&mut |name, value| {
            if states.names.is_empty() {
                names.push(name.to_owned());
            }
            values.push(value);
        });
        states.names.append(&mut names);
        states.values.push((rows, values));
    }
}

impl Observations {
    /// Log what the queue has dropped and marked; whether packet `arrival` is among the dropped ones.
    fn outcomes(&mut self, now: Time, waiting: u32, stats: &QueueStats, arrival: u64) -> bool {
        let mut is_dropped = false;
        for (packet, outcome) in &stats.outcomes {
            let (event, cause, number) = match *outcome {
                Outcome::Dropped(cause, number) => (PacketEvent::Drop, cause, number),
                Outcome::Marked(cause, number) => (PacketEvent::Mark, cause, number),
            };
            is_dropped |= matches!(outcome, Outcome::Dropped(..)) && number == arrival;
            self.log(now, waiting, event, Some(cause), number, packet);
        }
        is_dropped
    }

    fn log(
        &mut self,
        now: Time,
        waiting: u32,
        event: PacketEvent,
        cause: Option<Cause>,
        number: u64,
        packet: &Packet,
    ) {
        let Some(columns) = &mut self.packets else { return };
        columns.time_ns.push(now.0);
        columns.event.push(event as u8);
        columns.reason.push(cause.map_or(u8::MAX, |cause| cause as u8));
        columns.arrival.push(number);
        columns.flow.push(packet.flow);
        columns.connection.push(packet.flow);
        columns.sequence.push(packet.number);
        columns.kind.push(packet.carries as u8);
        columns.bytes.push(packet.bytes);
        columns.ecn.push(match packet.ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        });
        columns.flag.push(u8::from(packet.flag));
        columns.class.push(packet.class.0);
        columns.queue_packets.push(waiting);
    }

    fn carry(&mut self, packet: &Packet) {
        if !packet.is_forward() {
            return;
        }
        let flow = packet.flow as usize;
        if flow >= self.carried.len() {
            self.carried.resize(flow + 1, 0);
        }
        self.carried[flow] += u64::from(packet.bytes);
    }
}
