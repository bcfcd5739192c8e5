//! The contract: what an algorithm sees ([`PacketView`], [`QueueView`]), what it returns ([`Verdict`]), and
//! when it is called ([`Aqm`]).
//!
//! An algorithm owns no queue. The queue owns packets, limits, counters and traces; it calls the algorithm
//! and carries out the verdict. Views never include the arriving packet or the packet in service.

use crate::{Random, Span, Time};
use alloc::boxed::Box;
use core::any::Any;

/// The two ECN bits of a packet (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ecn {
    /// Not ECN-capable: a signal must be a drop.
    #[default]
    NotEct,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable, scalable (L4S).
    Ect1,
    /// Congestion experienced: the packet is marked.
    Ce,
}

/// The flow of a packet. Numbers are small and dense; the owner of the queue assigns them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A host at the end of a packet's path; 0 if it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// Traffic class or drop precedence of a packet (DiffServ); 0 where there are no classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u8);

/// What an algorithm sees of a packet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PacketView {
    /// Size on the wire.
    pub bytes: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// The flow.
    pub flow: FlowId,
    /// The class.
    pub class: Class,
    /// The host that sent it.
    pub source: HostId,
    /// The host that it goes to.
    pub destination: HostId,
    /// Time at which it entered this queue (for an arrival: now).
    pub arrived: Time,
}

impl PacketView {
    /// A packet of `bytes` that entered the queue at `arrived`: not ECN-capable, flow, class and hosts 0.
    #[inline(always)]
    pub const fn new(bytes: u32, arrived: Time) -> PacketView {
        let (source, destination) = (HostId(0), HostId(0));
        PacketView { bytes, ecn: Ecn::NotEct, flow: FlowId(0), class: Class(0), source, destination, arrived }
    }
    /// With this ECN field.
    #[inline(always)]
    pub const fn with_ecn(self, ecn: Ecn) -> PacketView {
        PacketView { ecn, ..self }
    }
    /// With this flow.
    #[inline(always)]
    pub const fn with_flow(self, flow: FlowId) -> PacketView {
        PacketView { flow, ..self }
    }
    /// With this class.
    #[inline(always)]
    pub const fn with_class(self, class: Class) -> PacketView {
        PacketView { class, ..self }
    }
    /// Between these hosts.
    #[inline(always)]
    pub const fn with_hosts(self, source: HostId, destination: HostId) -> PacketView {
        PacketView { source, destination, ..self }
    }
    /// With this size.
    #[inline(always)]
    pub const fn with_bytes(self, bytes: u32) -> PacketView {
        PacketView { bytes, ..self }
    }
    /// Arrived at this time.
    #[inline(always)]
    pub const fn with_arrived(self, arrived: Time) -> PacketView {
        PacketView { arrived, ..self }
    }
}

/// The buffer limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(u64),
}

impl Limit {
    /// Whether a packet of `more` bytes fits into a queue of this length.
    pub fn has_room(self, packets: u32, bytes: u64, more: u32) -> bool {
        match self {
            Limit::Packets(limit) => packets < limit,
            Limit::Bytes(limit) => bytes + u64::from(more) <= limit,
        }
    }
}

/// The packets in the queue, for the algorithms that need them (CHOKe, RIO).
pub trait Contents {
    /// The queued packet at `position`, head = 0.
    fn at(&self, position: u32) -> Option<PacketView>;
    /// Queued packets of one flow.
    fn of_flow(&self, flow: FlowId) -> u32;
    /// Queued packets of one class.
    fn of_class(&self, class: Class) -> u32;
}

/// What an algorithm sees of the queue.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct QueueView<'a> {
    /// Queued packets.
    pub packets: u32,
    /// Queued bytes.
    pub bytes: u64,
    /// The buffer limit in force.
    pub limit: Limit,
    /// Configured rate of the link in bit/s; constant even if the rate of the link varies.
    pub link_rate: u64,
    /// The packets.
    pub contents: &'a dyn Contents,
}

impl<'a> QueueView<'a> {
    /// A queue of `packets` packets, `bytes` bytes in all.
    #[inline(always)]
    pub const fn new(
        packets: u32,
        bytes: u64,
        limit: Limit,
        link_rate: u64,
        contents: &'a dyn Contents,
    ) -> QueueView<'a> {
        QueueView { packets, bytes, limit, link_rate, contents }
    }
    /// With these contents.
    pub const fn with_contents<'b>(self, contents: &'b dyn Contents) -> QueueView<'b> {
        QueueView::new(self.packets, self.bytes, self.limit, self.link_rate, contents)
    }
}

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cause {
    /// The buffer was full (never a mark).
    Overflow,
    /// The algorithm's random or delay-based decision.
    Early,
    /// The region where the algorithm signals every packet (RED above its upper threshold).
    Forced,
    /// A flow exceeds its share.
    FlowLimit,
    /// Outside the traffic profile.
    Profile,
}

impl Cause {
    /// Every cause, in the order in which counters are kept.
    pub const ALL: &'static [Cause] =
        &[Cause::Overflow, Cause::Early, Cause::Forced, Cause::FlowLimit, Cause::Profile];

    /// The name in results: `overflow`, `early`, `forced`, `flow-limit`, `profile`.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Overflow => "overflow",
            Cause::Early => "early",
            Cause::Forced => "forced",
            Cause::FlowLimit => "flow-limit",
            Cause::Profile => "profile",
        }
    }
}

/// The decision of an algorithm about a packet. Exhaustive: a queue that ignored a verdict would be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Accept it.
    Pass,
    /// Accept it with a CE mark. Only for ECN-capable packets; CE stays CE.
    Mark(Cause),
    /// Drop it.
    Drop(Cause),
    /// Drop the arrival and the queued packet at `victim` (CHOKe).
    DropBoth {
        /// Position of the second victim, head = 0.
        victim: u32,
        /// The cause of both.
        cause: Cause,
    },
}

impl Verdict {
    /// A congestion signal to `packet`: a mark if `ecn` is on and the packet is ECN-capable, else a drop.
    pub fn signal(packet: &PacketView, ecn: bool, cause: Cause) -> Verdict {
        if ecn && packet.ecn != Ecn::NotEct { Verdict::Mark(cause) } else { Verdict::Drop(cause) }
    }
}

/// The hooks that an algorithm implements: a queue may omit the other calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hooks {
    /// [`Aqm::on_offered`] and [`Aqm::on_arrival`] do something.
    pub arrivals: bool,
    /// [`Aqm::on_departure`] does something.
    pub departures: bool,
}

impl Hooks {
    /// The hooks of arrivals and departures.
    pub const ALL: Hooks = Hooks { arrivals: true, departures: true };
    /// The hooks of arrivals only.
    pub const ARRIVALS: Hooks = Hooks { arrivals: true, departures: false };
    /// The hook of departures only.
    pub const DEPARTURES: Hooks = Hooks { arrivals: false, departures: true };
    /// None.
    pub const NONE: Hooks = Hooks { arrivals: false, departures: false };
}

/// An active queue management algorithm.
///
/// Every handler has a default that does nothing, so an algorithm implements only the events that it uses.
/// `now` never decreases. For an arriving packet the queue calls, in this order, [`Aqm::on_offered`]; then,
/// if the buffer has no room, [`Aqm::on_drop`] for each victim; then, unless the arrival itself was the
/// victim, [`Aqm::on_arrival`]; if it was, [`Aqm::on_refused`].
///
/// It is [`Any`], so that a queue can call a known algorithm through its concrete type.
pub trait Aqm: Any + Send {
    /// The hooks that it implements; constant for an instance. A queue may omit the other calls to save time.
    fn hooks(&self) -> Hooks {
        Hooks::ALL
    }

    /// A packet arrives, whether or not it will fit. Estimators that count every arrival (a rate, an average
    /// queue) are updated here.
    fn on_offered(&mut self, _now: Time, _packet: &PacketView, _queue: &QueueView) {}

    /// A packet that fits arrives.
    fn on_arrival(
        &mut self,
        _now: Time,
        _packet: &PacketView,
        _queue: &QueueView,
        _rng: &mut dyn Random,
    ) -> Verdict {
        Verdict::Pass
    }

    /// [`Aqm::on_offered`] and [`Aqm::on_arrival`] in one call, for a packet that fits. An implementation may
    /// be faster but must do the same.
    fn on_fit(&mut self, now: Time, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) -> Verdict {
        self.on_offered(now, packet, queue);
        self.on_arrival(now, packet, queue, rng)
    }

    /// The head is about to be sent; `queue` no longer contains it.
    fn on_departure(
        &mut self,
        _now: Time,
        _packet: &PacketView,
        _queue: &QueueView,
        _rng: &mut dyn Random,
    ) -> Verdict {
        Verdict::Pass
    }

    /// A packet was dropped by the queue, not by this algorithm's verdict (`cause` is `Overflow`).
    fn on_drop(&mut self, _now: Time, _packet: &PacketView, _cause: Cause, _queue: &QueueView) {}

    /// The arriving packet did not fit; [`Aqm::on_drop`] was called for it before. Used by algorithms that
    /// draw random numbers at every arrival, dropped ones included (SRED's list of flows).
    fn on_refused(&mut self, _now: Time, _packet: &PacketView, _queue: &QueueView, _rng: &mut dyn Random) {}

    /// The transmitter finished a packet and found the queue empty.
    fn on_idle(&mut self, _now: Time) {}

    /// Time of the next call of [`Aqm::on_timer`]. The queue reads it after construction and after each call.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// Called at the time that [`Aqm::next_timer`] returned.
    fn on_timer(&mut self, _now: Time, _queue: &QueueView, _rng: &mut dyn Random) {}

    /// Whether [`Aqm::on_timer`] changes nothing as long as the queue is empty. Then a queue may omit it
    /// until a packet arrives, and must call [`Aqm::resume`] before the other handlers.
    fn rests(&self) -> bool {
        false
    }

    /// Timers before `next`, the time of the next one, were omitted.
    fn resume(&mut self, _next: Time) {}

    /// The run ends, with the last call of this instance: report the state to keep with the results, each
    /// value as JSON.
    fn on_end(&mut self, _now: Time, _export: &mut dyn FnMut(&str, &str)) {}

    /// Report the state variables that the registry entry lists as `probes`.
    fn probe(&self, _field: &mut dyn FnMut(&'static str, f64)) {}

    /// An independent copy that continues from here.
    fn clone_box(&self) -> Box<dyn Aqm>;
}

/// An algorithm that never reads [`QueueView::contents`].
///
/// A queue that is compiled for one algorithm keeps no occupancy of flows and classes; its bound is this
/// trait, so that an algorithm that would read stale counts does not compile:
///
/// ```compile_fail,E0277
/// use sojourn_aqm::{IgnoresContents, rio::Rio};
///
/// struct Queue<A: IgnoresContents>(A);
/// fn unfit(_: Queue<Rio>) {} // RIO counts the packets of each drop precedence
/// ```
///
/// ```
/// # use sojourn_aqm::{IgnoresContents, red::Red};
/// # struct Queue<A: IgnoresContents>(A);
/// fn fit(_: Queue<Red>) {}
/// ```
///
/// The conformance tests run every such algorithm on a queue whose contents panic when read.
pub trait IgnoresContents: Aqm {}

/// An algorithm of any type, for example one built from a [`crate::Spec`].
impl Aqm for Box<dyn Aqm> {
    fn hooks(&self) -> Hooks {
        (**self).hooks()
    }
    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        (**self).on_offered(now, packet, queue);
    }
    fn on_arrival(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        (**self).on_arrival(now, packet, queue, rng)
    }
    fn on_fit(&mut self, now: Time, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) -> Verdict {
        (**self).on_fit(now, packet, queue, rng)
    }
    fn on_departure(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> Verdict {
        (**self).on_departure(now, packet, queue, rng)
    }
    fn on_drop(&mut self, now: Time, packet: &PacketView, cause: Cause, queue: &QueueView) {
        (**self).on_drop(now, packet, cause, queue);
    }
    fn on_refused(&mut self, now: Time, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) {
        (**self).on_refused(now, packet, queue, rng);
    }
    fn on_idle(&mut self, now: Time) {
        (**self).on_idle(now);
    }
    fn next_timer(&self) -> Option<Time> {
        (**self).next_timer()
    }
    fn on_timer(&mut self, now: Time, queue: &QueueView, rng: &mut dyn Random) {
        (**self).on_timer(now, queue, rng);
    }
    fn rests(&self) -> bool {
        (**self).rests()
    }
    fn resume(&mut self, next: Time) {
        (**self).resume(next);
    }
    fn on_end(&mut self, now: Time, export: &mut dyn FnMut(&str, &str)) {
        (**self).on_end(now, export);
    }
    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        (**self).probe(field);
    }
    fn clone_box(&self) -> Box<dyn Aqm> {
        (**self).clone_box()
    }
}

impl Clone for Box<dyn Aqm> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

/// Time to send `bytes` at `rate` bit/s in whole nanoseconds, rounded down.
pub fn transmission(bytes: u64, rate: u64) -> Span {
    Span((u128::from(bytes) * 8_000_000_000 / u128::from(rate.max(1))) as u64)
}
