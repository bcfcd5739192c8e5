//! [`Fifo`]: a first-in, first-out queue that owns its packets and drops or marks them as its algorithm
//! decides.

use crate::{
    Aqm, Cause, Class, Contents, Context, Ecn, FlowId, Limit, Occupancy, PacketView, QueueView, Span, Stream,
    Time, Verdict,
};
use alloc::collections::VecDeque;

/// Maximum number of timers that expire at their own times in one call; one more, at the current time,
/// replaces the rest.
const MAX_TIMERS: u32 = 1000;

/// A queue of packets `P` in front of a link, managed by `A`: any algorithm, or a `Box<dyn Aqm>`.
///
/// Call [`Fifo::enqueue`] for every arriving packet and [`Fifo::dequeue`] whenever the link can send: after
/// an arrival at an idle link, and at the end of each transmission. Timers of the algorithm expire within
/// these calls. A packet that does not fit is dropped at the tail. Random numbers come from the seed: the
/// same calls with the same seed have the same result.
///
/// ```
/// use sojourn_aqm::{Context, Ecn, Limit, PacketView, Time, codel, codel::CoDel, queue::Fifo};
///
/// let link = Context::new(10_000_000, Limit::Packets(1000));
/// let codel = CoDel::new(codel::Config { ecn: true, ..Default::default() })?;
/// let mut queue = Fifo::new(codel, &link, 1);
///
/// let arrived = Time::ZERO;
/// queue.enqueue(arrived, PacketView::new(1500, arrived).with_ecn(Ecn::Ect0), "payload", |_, _, _| ());
/// let (view, payload) = queue.dequeue(Time(2_000_000), |_, _, _| ()).expect("one packet is queued");
/// assert_eq!((view.ecn, payload), (Ecn::Ect0, "payload")); // after a mark: `Ecn::Ce`
/// # Ok::<(), sojourn_aqm::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fifo<A, P> {
    aqm: A,
    packets: Packets<P>,
    limit: Limit,
    link_rate: u64,
    rng: Stream,
    /// The last `dequeue` returned a packet, which the link is sending.
    is_busy: bool,
}

/// The packets of a queue, with the views for algorithms.
#[derive(Clone, Debug)]
struct Packets<P> {
    ring: VecDeque<(PacketView, P)>,
    bytes: u64,
    occupancy: Occupancy,
}

impl<P> Packets<P> {
    fn push(&mut self, view: PacketView, packet: P) {
        self.bytes += u64::from(view.bytes);
        self.occupancy.enter(view.flow, view.class);
        self.ring.push_back((view, packet));
    }

    fn remove(&mut self, position: usize) -> Option<(PacketView, P)> {
        let (view, packet) = self.ring.remove(position)?;
        self.bytes -= u64::from(view.bytes);
        self.occupancy.leave(view.flow, view.class);
        Some((view, packet))
    }

    fn members(&self) -> impl Iterator<Item = (FlowId, Class)> {
        self.ring.iter().map(|(view, _)| (view.flow, view.class))
    }
}

impl<P> Contents for Packets<P> {
    fn at(&self, position: u32) -> Option<PacketView> {
        self.ring.get(position as usize).map(|(view, _)| *view)
    }
    fn of_flow(&self, flow: FlowId) -> u32 {
        self.occupancy.of_flow(flow, || self.members())
    }
    fn of_class(&self, class: Class) -> u32 {
        self.occupancy.of_class(class, || self.members())
    }
}

/// The algorithm, a view of its queue, and the random numbers.
macro_rules! parts {
    ($fifo:ident) => {{
        let Fifo { aqm, packets, limit, link_rate, rng, .. } = $fifo;
        (aqm, QueueView::new(packets.ring.len() as u32, packets.bytes, *limit, *link_rate, packets), rng)
    }};
}

impl<A: Aqm, P> Fifo<A, P> {
    /// An empty queue in front of `link`, which is idle.
    pub fn new(aqm: A, link: &Context, seed: u64) -> Fifo<A, P> {
        Fifo {
            aqm,
            packets: Packets { ring: VecDeque::new(), bytes: 0, occupancy: Occupancy::default() },
            limit: link.limit,
            link_rate: link.link_rate,
            rng: Stream::new(seed, "algorithm"),
            is_busy: false,
        }
    }

    /// A packet arrives. Each dropped packet, this one or a queued one, is passed to `dropped`.
    pub fn enqueue(
        &mut self,
        now: Time,
        view: PacketView,
        packet: P,
        mut dropped: impl FnMut(PacketView, P, Cause),
    ) {
        self.expire_timers(now);
        let mut view = view.with_arrived(now);
        let (aqm, queue, rng) = parts!(self);
        if !self.limit.has_room(queue.packets, queue.bytes, view.bytes) {
            aqm.on_offered(now, &view, &queue);
            aqm.on_drop(now, &view, Cause::Overflow, &queue);
            aqm.on_refused(now, &view, &queue, rng);
            dropped(view, packet, Cause::Overflow);
            return self.refused(now);
        }
        match aqm.on_fit(now, &view, &queue, rng) {
            Verdict::Pass => {}
            Verdict::Mark(_) => view.ecn = Ecn::Ce,
            Verdict::Drop(cause) => {
                dropped(view, packet, cause);
                return self.refused(now);
            }
            Verdict::DropBoth { victim, cause } => {
                if let Some((view, packet)) = self.packets.remove(victim as usize) {
                    dropped(view, packet, cause);
                }
                dropped(view, packet, cause);
                return self.refused(now);
            }
        }
        self.packets.push(view, packet);
    }

    /// The next packet to send; its view has `Ecn::Ce` if it was marked. Packets dropped before it are passed
    /// to `dropped`.
    pub fn dequeue(
        &mut self,
        now: Time,
        mut dropped: impl FnMut(PacketView, P, Cause),
    ) -> Option<(PacketView, P)> {
        self.expire_timers(now);
        while let Some((mut view, packet)) = self.packets.remove(0) {
            let (aqm, queue, rng) = parts!(self);
            match aqm.on_departure(now, &view, &queue, rng) {
                Verdict::Pass => {}
                Verdict::Mark(_) => view.ecn = Ecn::Ce,
                Verdict::Drop(cause) | Verdict::DropBoth { cause, .. } => {
                    dropped(view, packet, cause);
                    continue;
                }
            }
            self.is_busy = true;
            return Some((view, packet));
        }
        if core::mem::replace(&mut self.is_busy, false) {
            self.aqm.on_idle(now);
        }
        None
    }

    /// An arrival was dropped; an idle link stays idle.
    fn refused(&mut self, now: Time) {
        if !self.is_busy && self.is_empty() {
            self.aqm.on_idle(now);
        }
    }

    /// The algorithm.
    pub fn aqm(&self) -> &A {
        &self.aqm
    }

    /// Queued packets.
    pub fn len(&self) -> usize {
        self.packets.ring.len()
    }

    /// Whether no packet is queued.
    pub fn is_empty(&self) -> bool {
        self.packets.ring.is_empty()
    }

    /// Queued bytes.
    pub fn bytes(&self) -> u64 {
        self.packets.bytes
    }

    /// Time for which the head has been queued.
    pub fn sojourn(&self, now: Time) -> Option<Span> {
        self.packets.ring.front().map(|(view, _)| now.since(view.arrived))
    }

    /// Call the algorithm for each timer that has expired, at the time for which it was set.
    fn expire_timers(&mut self, now: Time) {
        for count in 0..=MAX_TIMERS {
            let Some(due) = self.aqm.next_timer().filter(|due| *due <= now) else { return };
            let (aqm, queue, rng) = parts!(self);
            aqm.on_timer(if count < MAX_TIMERS { due } else { now }, &queue, rng);
        }
    }
}
