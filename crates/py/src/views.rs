//! The arguments and answers of handlers in Python: `Packet`, `Queue`, `Rng`, `Link`, `Verdict`.
//!
//! Each call gets new views from a free list, so a handler may keep them. The contents of the queue and
//! random numbers are available only while a handler runs, through two scoped thread-local variables.

use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use sojourn_aqm::{
    Cause, Class, Contents, Context, Ecn, FlowId, Limit, PacketView, QueueView, Random, units,
};

scoped_tls_hkt::scoped_thread_local!(pub(crate) static CONTENTS: for<'a> &'a (dyn Contents + 'a));
scoped_tls_hkt::scoped_thread_local!(pub(crate) static mut RANDOM: for<'a> &'a mut (dyn Random + 'a));

/// A packet, as an algorithm sees it.
#[pyclass(frozen, freelist = 16, module = "sojourn._core")]
pub(crate) struct Packet(pub(crate) PacketView);

#[pymethods]
impl Packet {
    /// Size on the wire.
    #[getter]
    fn bytes(&self) -> u32 {
        self.0.bytes
    }
    /// Its ECN field: NOT_ECT, ECT1, ECT0 or CE; true if the packet is ECN-capable.
    #[getter]
    fn ecn(&self) -> u8 {
        codepoint(self.0.ecn)
    }
    /// Number of its flow.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.flow.0
    }
    /// Its traffic class.
    #[getter]
    fn class_(&self) -> u8 {
        self.0.class.0
    }
    /// When it arrived at this queue, in ns (for an arrival: now).
    #[getter]
    fn arrived(&self) -> u64 {
        self.0.arrived.0
    }
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
    fn __repr__(&self) -> String {
        let p = &self.0;
        let (bytes, ecn, flow, class) = (p.bytes, codepoint(p.ecn), p.flow.0, p.class.0);
        format!("Packet(bytes={bytes}, ecn={ecn}, flow={flow}, class_={class}, arrived={})", p.arrived.0)
    }
}

/// The ECN field of RFC 3168, section 5.
fn codepoint(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// The queue, as an algorithm sees it, without the packet in transmission.
#[pyclass(frozen, freelist = 16, module = "sojourn._core")]
pub(crate) struct Queue {
    packets: u32,
    bytes: u64,
    limit: Limit,
    link_rate: u64,
}

impl Queue {
    pub(crate) fn of(view: &QueueView) -> Queue {
        Queue { packets: view.packets, bytes: view.bytes, limit: view.limit, link_rate: view.link_rate }
    }
}

#[pymethods]
impl Queue {
    /// Packets in the queue.
    #[getter]
    fn packets(&self) -> u32 {
        self.packets
    }
    /// Bytes in the queue.
    #[getter]
    fn bytes(&self) -> u64 {
        self.bytes
    }
    /// The buffer limit, if it is in packets.
    #[getter]
    fn limit_packets(&self) -> Option<u32> {
        limits(self.limit).0
    }
    /// The buffer limit, if it is in bytes.
    #[getter]
    fn limit_bytes(&self) -> Option<u64> {
        limits(self.limit).1
    }
    /// Rate of the link in bit/s.
    #[getter]
    fn link_rate(&self) -> u64 {
        self.link_rate
    }
    /// The packet at `position`, head = 0; None beyond the tail.
    fn at(&self, position: u32) -> PyResult<Option<Packet>> {
        inspect(|contents| contents.at(position).map(Packet))
    }
    /// Packets of one flow in the queue.
    fn of_flow(&self, flow: u32) -> PyResult<u32> {
        inspect(|contents| contents.of_flow(FlowId(flow)))
    }
    /// Packets of one class in the queue.
    fn of_class(&self, class_: u8) -> PyResult<u32> {
        inspect(|contents| contents.of_class(Class(class_)))
    }
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

fn limits(limit: Limit) -> (Option<u32>, Option<u64>) {
    match limit {
        Limit::Packets(n) => (Some(n), None),
        Limit::Bytes(n) => (None, Some(n)),
    }
}

fn inspect<T>(query: impl FnOnce(&dyn Contents) -> T) -> PyResult<T> {
    if !CONTENTS.is_set() {
        return Err(PyRuntimeError::new_err("the queue can be inspected only while a handler runs"));
    }
    Ok(CONTENTS.with(|contents| query(contents)))
}

/// The random number generator of the queue.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Rng;

#[pymethods]
impl Rng {
    /// Draw a number u, 0 <= u < 1.
    fn uniform(&self) -> PyResult<f64> {
        if !RANDOM.is_set() {
            return Err(PyRuntimeError::new_err("a random number can be drawn only while its handler runs"));
        }
        Ok(RANDOM.with(|random| random.uniform()))
    }
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

/// The link of an algorithm.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Link(pub(crate) Context);

#[pymethods]
impl Link {
    /// Its rate in bit/s.
    #[getter]
    fn rate(&self) -> u64 {
        self.0.link_rate
    }
    /// The buffer limit, if it is in packets.
    #[getter]
    fn limit_packets(&self) -> Option<u32> {
        limits(self.0.limit).0
    }
    /// The buffer limit, if it is in bytes.
    #[getter]
    fn limit_bytes(&self) -> Option<u64> {
        limits(self.0.limit).1
    }
    /// Mean packet size on the wire, in bytes.
    #[getter]
    fn mean_packet(&self) -> u32 {
        self.0.mean_packet
    }
    /// Transmission time of a packet of the mean size, in ns.
    #[getter]
    fn packet_time(&self) -> u64 {
        self.0.packet_time().0
    }
    // Copies of an algorithm share the link.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

/// The decision of an algorithm about a packet; called with a cause, the same decision with that cause.
#[pyclass(frozen, eq, module = "sojourn._core")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Verdict(pub(crate) sojourn_aqm::Verdict);

pub(crate) const PASS: Verdict = Verdict(sojourn_aqm::Verdict::Pass);
pub(crate) const MARK: Verdict = Verdict(sojourn_aqm::Verdict::Mark(Cause::Early));
pub(crate) const DROP: Verdict = Verdict(sojourn_aqm::Verdict::Drop(Cause::Early));

#[pymethods]
impl Verdict {
    /// Return the same decision with `cause`: early, forced, flow-limit or profile.
    fn __call__(&self, cause: &str) -> PyResult<Verdict> {
        use sojourn_aqm::Verdict::{Drop, DropBoth, Mark, Pass};
        let cause = cause_of(cause)?;
        Ok(Verdict(match self.0 {
            Pass => return Err(PyValueError::new_err("PASS has no cause")),
            Mark(_) => Mark(cause),
            Drop(_) => Drop(cause),
            DropBoth { victim, .. } => DropBoth { victim, cause },
        }))
    }
    fn __repr__(&self) -> String {
        use sojourn_aqm::Verdict::{Drop, DropBoth, Mark, Pass};
        match self.0 {
            Pass => "PASS".to_owned(),
            Mark(cause) => format!("MARK({:?})", cause.name()),
            Drop(cause) => format!("DROP({:?})", cause.name()),
            DropBoth { victim, cause } => format!("drop_both({victim}, {:?})", cause.name()),
        }
    }
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

/// Drop the arriving packet and the queued packet at position `victim` (head = 0).
#[pyfunction]
#[pyo3(signature = (victim, cause = "early"))]
pub(crate) fn drop_both(victim: u32, cause: &str) -> PyResult<Verdict> {
    Ok(Verdict(sojourn_aqm::Verdict::DropBoth { victim, cause: cause_of(cause)? }))
}

/// Parse a cause of an algorithm; overflow is reserved for the queue.
fn cause_of(word: &str) -> PyResult<Cause> {
    let allowed = || Cause::ALL.iter().copied().filter(|cause| *cause != Cause::Overflow);
    allowed().find(|cause| cause.name() == word).ok_or_else(|| {
        let names: Vec<&str> = allowed().map(Cause::name).collect();
        let near = units::nearest(word, names.iter().copied())
            .map_or(String::new(), |name| format!(" (did you mean {name}?)"));
        let why = if word == Cause::Overflow.name() { "is the queue's own cause" } else { "is not a cause" };
        PyValueError::new_err(format!("{word:?} {why}{near}; allowed: {}", names.join(", ")))
    })
}
