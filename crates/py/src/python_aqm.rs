//! An algorithm written in Python, behind the trait [`Aqm`].
//!
//! Each run has an instance of its own. Handlers that the class does not override are not called. A handler
//! cannot return an error to the simulator, so a violation ends the run by unwinding with a [`Violation`],
//! without the panic hook; [`crate::user_aqm::guarded`] and `batch` catch it.

use crate::views::{CONTENTS, Packet, Queue, RANDOM, Rng, Verdict};
use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*, types::PyFloat};
use sojourn_aqm::{Aqm, Cause, Ecn, PacketView, Probe, QueueView, Random, Time};
use std::panic::resume_unwind;

/// Consecutive timers without a packet after which a run is assumed to loop forever.
const MAX_TIMERS: u64 = 10_000_000;

/// The violation of a rule by a handler.
pub(crate) struct Violation {
    /// The rule: `raises`, `answer`, `ecn`, `victim`, `timer`, `finite`, `probes`, `exports`, `clone`.
    pub(crate) rule: &'static str,
    /// The handler, the problem and the time.
    pub(crate) text: String,
    /// Whether Ctrl-C interrupted the handler.
    pub(crate) interrupted: bool,
}

impl Violation {
    /// An exception in `place` (the algorithm and its handler), with the line in `file`.
    pub(crate) fn raised(py: Python<'_>, place: &str, file: &str, error: &PyErr) -> Violation {
        let line = line_of(py, error, file).map_or(String::new(), |line| format!(", line {line}"));
        let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |n| n.to_string());
        let why = error.value(py).str().map_or(String::new(), |text| text.to_string());
        let colon = if why.is_empty() { "" } else { ": " };
        Violation {
            rule: "raises",
            text: format!("{place}{line}: {kind}{colon}{why}"),
            interrupted: error.is_instance_of::<PyKeyboardInterrupt>(py),
        }
    }
}

/// The innermost line of `file` in the traceback of an exception.
fn line_of(py: Python<'_>, error: &PyErr, file: &str) -> Option<u32> {
    let mut found = None;
    let mut next = error.traceback(py).map(Bound::into_any);
    while let Some(frame) = next {
        let name: Option<String> =
            (|| frame.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract().map(Some))()
                .unwrap_or(None);
        if name.as_deref() == Some(file) {
            found = frame.getattr("tb_lineno").and_then(|line| line.extract()).ok();
        }
        next = frame.getattr("tb_next").ok().filter(|next| !next.is_none());
    }
    found
}

/// The bound methods of an instance that its class overrides.
#[derive(Default)]
struct Handlers {
    on_offered: Option<Py<PyAny>>,
    on_arrival: Option<Py<PyAny>>,
    on_departure: Option<Py<PyAny>>,
    on_drop: Option<Py<PyAny>>,
    on_refused: Option<Py<PyAny>>,
    on_idle: Option<Py<PyAny>>,
    next_timer: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    on_end: Option<Py<PyAny>>,
    probe: Option<Py<PyAny>>,
}

impl Handlers {
    fn of(instance: &Bound<'_, PyAny>, overridden: &[String]) -> PyResult<Handlers> {
        let get = |name: &str| match overridden.iter().any(|o| o == name) {
            true => instance.getattr(name).map(|method| Some(method.unbind())),
            false => Ok(None),
        };
        Ok(Handlers {
            on_offered: get("on_offered")?,
            on_arrival: get("on_arrival")?,
            on_departure: get("on_departure")?,
            on_drop: get("on_drop")?,
            on_refused: get("on_refused")?,
            on_idle: get("on_idle")?,
            next_timer: get("next_timer")?,
            on_timer: get("on_timer")?,
            on_end: get("on_end")?,
            probe: get("probe")?,
        })
    }
}

/// The properties of a class that all its instances share.
#[derive(Clone)]
pub(crate) struct Class {
    /// Its name in specs: `mine.py:Mine`.
    pub(crate) name: &'static str,
    /// The file name in its code objects.
    pub(crate) file: String,
    pub(crate) overridden: Vec<String>,
    pub(crate) probes: &'static [Probe],
    /// Whether `on_timer` takes random numbers.
    pub(crate) draws_in_timer: bool,
    /// The attributes that are exported at the end of a run.
    pub(crate) exports: Vec<String>,
}

/// An instance of a class.
pub(crate) struct PythonAqm {
    class: Class,
    instance: Py<PyAny>,
    handlers: Handlers,
    rng: Py<Rng>,
    /// The time of the last call, for messages and timers.
    now: Time,
    /// Timers since the last packet.
    timers: u64,
}

impl PythonAqm {
    pub(crate) fn new(class: Class, instance: &Bound<'_, PyAny>) -> PyResult<PythonAqm> {
        let py = instance.py();
        Ok(PythonAqm {
            handlers: Handlers::of(instance, &class.overridden)?,
            class,
            instance: instance.clone().unbind(),
            rng: Py::new(py, Rng)?,
            now: Time::ZERO,
            timers: 0,
        })
    }

    /// The Python object.
    pub(crate) fn instance(&self) -> &Py<PyAny> {
        &self.instance
    }

    /// Call `on_arrival` or `on_departure` and convert its answer.
    fn decide(
        &mut self,
        handler: &'static str,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> sojourn_aqm::Verdict {
        (self.now, self.timers) = (now, 0);
        Python::attach(|py| {
            let method =
                if handler == "on_arrival" { &self.handlers.on_arrival } else { &self.handlers.on_departure };
            let Some(method) = method else { return sojourn_aqm::Verdict::Pass };
            let arguments = (now.0, Packet(*packet), Queue::of(queue), &self.rng);
            let answer =
                RANDOM.set(rng, || CONTENTS.set(queue.contents, || method.bind(py).call1(arguments)));
            match answer {
                Ok(answer) => self.verdict(handler, &answer, packet, queue),
                Err(error) => self.fail(py, handler, &error),
            }
        })
    }

    /// Convert an answer into a verdict; None means PASS.
    fn verdict(
        &self,
        handler: &str,
        answer: &Bound<'_, PyAny>,
        packet: &PacketView,
        queue: &QueueView,
    ) -> sojourn_aqm::Verdict {
        let Ok(verdict) = answer.cast_exact::<Verdict>() else {
            if answer.is_none() {
                return sojourn_aqm::Verdict::Pass;
            }
            let repr = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
            let given = shorten(&repr);
            self.stop(
                "answer",
                handler,
                &format!("returned {given}; allowed: PASS, MARK, DROP, drop_both(n)"),
            );
        };
        let verdict = verdict.get().0;
        match verdict {
            sojourn_aqm::Verdict::Mark(_) if packet.ecn == Ecn::NotEct => self.stop(
                "ecn",
                handler,
                "marked a packet that is not ECN-capable; allowed: DROP, or self.signal(packet)",
            ),
            sojourn_aqm::Verdict::DropBoth { .. } if handler == "on_departure" => {
                self.stop("victim", handler, "named a second victim; allowed: only in on_arrival")
            }
            sojourn_aqm::Verdict::DropBoth { victim, .. } if victim >= queue.packets => {
                let length = queue.packets;
                self.stop(
                    "victim",
                    handler,
                    &format!("named the packet at {victim}, but the queue has {length}"),
                )
            }
            verdict => verdict,
        }
    }

    fn place(&self, handler: &str) -> String {
        format!("{}.{handler}", self.class.name)
    }

    /// End the run because a handler raised.
    fn fail(&self, py: Python<'_>, handler: &str, error: &PyErr) -> ! {
        let mut violation = Violation::raised(py, &self.place(handler), &self.class.file, error);
        violation.text += &self.time_suffix();
        resume_unwind(Box::new(violation))
    }

    /// End the run because a handler broke a rule.
    fn stop(&self, rule: &'static str, handler: &str, what: &str) -> ! {
        let text = format!("{} {what}{}", self.place(handler), self.time_suffix());
        resume_unwind(Box::new(Violation { rule, text, interrupted: false }))
    }

    fn time_suffix(&self) -> String {
        format!(" (at {} s)", self.now.as_secs_f64())
    }

    /// Convert the answer of `next_timer`.
    fn timer(&self, answer: &Bound<'_, PyAny>) -> Option<Time> {
        if answer.is_none() {
            return None;
        }
        let refuse = || -> ! {
            let repr = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
            let given = shorten(&repr);
            self.stop(
                "timer",
                "next_timer",
                &format!("returned {given}; allowed: a time in ns after now, or None"),
            )
        };
        // Floats are accepted for convenience (now + 1.5 * period); the fraction of a ns is dropped.
        let time = match answer.cast::<PyFloat>().map(|x| x.value()) {
            Ok(x) if x >= 0.0 && x < u64::MAX as f64 => x as u64,
            Ok(_) => refuse(),
            Err(_) => answer.extract::<u64>().unwrap_or_else(|_| refuse()),
        };
        Some(Time(time))
    }
}

/// What an exported attribute may be.
const EXPORTABLE: &str =
    "finite numbers, text, true, false, None, and lists and dicts of them, 16 MB as JSON";

/// The attribute `name` of an instance as JSON.
fn as_json(instance: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    let py = instance.py();
    py.import("sojourn.algorithms")?.getattr("exported")?.call1((instance, name))?.extract()
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        text.to_owned()
    } else {
        text.chars().take(57).chain("...".chars()).collect()
    }
}

impl Aqm for PythonAqm {
    fn on_offered(&mut self, now: Time, packet: &PacketView, queue: &QueueView) {
        (self.now, self.timers) = (now, 0);
        if self.handlers.on_offered.is_none() {
            return;
        }
        Python::attach(|py| {
            let Some(method) = &self.handlers.on_offered else { return };
            let arguments = (now.0, Packet(*packet), Queue::of(queue));
            if let Err(error) = CONTENTS.set(queue.contents, || method.bind(py).call1(arguments)) {
                self.fail(py, "on_offered", &error);
            }
        });
    }

    fn on_arrival(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> sojourn_aqm::Verdict {
        match self.handlers.on_arrival {
            Some(_) => self.decide("on_arrival", now, packet, queue, rng),
            None => sojourn_aqm::Verdict::Pass,
        }
    }

    fn on_departure(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        rng: &mut dyn Random,
    ) -> sojourn_aqm::Verdict {
        match self.handlers.on_departure {
            Some(_) => self.decide("on_departure", now, packet, queue, rng),
            None => sojourn_aqm::Verdict::Pass,
        }
    }

    fn on_drop(&mut self, now: Time, packet: &PacketView, cause: Cause, queue: &QueueView) {
        self.now = now;
        if self.handlers.on_drop.is_none() {
            return;
        }
        Python::attach(|py| {
            let Some(method) = &self.handlers.on_drop else { return };
            let arguments = (now.0, Packet(*packet), cause.name(), Queue::of(queue));
            if let Err(error) = CONTENTS.set(queue.contents, || method.bind(py).call1(arguments)) {
                self.fail(py, "on_drop", &error);
            }
        });
    }

    fn on_refused(&mut self, now: Time, packet: &PacketView, queue: &QueueView, rng: &mut dyn Random) {
        self.now = now;
        if self.handlers.on_refused.is_none() {
            return;
        }
        Python::attach(|py| {
            let Some(method) = &self.handlers.on_refused else { return };
            let arguments = (now.0, Packet(*packet), Queue::of(queue), &self.rng);
            let done = RANDOM.set(rng, || CONTENTS.set(queue.contents, || method.bind(py).call1(arguments)));
            if let Err(error) = done {
                self.fail(py, "on_refused", &error);
            }
        });
    }

    fn on_idle(&mut self, now: Time) {
        self.now = now;
        let Some(method) = &self.handlers.on_idle else { return };
        Python::attach(|py| {
            if let Err(error) = method.bind(py).call1((now.0,)) {
                self.fail(py, "on_idle", &error);
            }
        });
    }

    fn next_timer(&self) -> Option<Time> {
        let method = self.handlers.next_timer.as_ref()?;
        let time = Python::attach(|py| match method.bind(py).call0() {
            Ok(answer) => self.timer(&answer),
            Err(error) => self.fail(py, "next_timer", &error),
        })?;
        if self.timers > 0 && time <= self.now {
            self.stop(
                "timer",
                "next_timer",
                &format!("returned {}, which is not after now = {}", time.0, self.now.0),
            );
        }
        Some(time)
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, rng: &mut dyn Random) {
        self.now = now;
        self.timers += 1;
        if self.timers > MAX_TIMERS {
            self.stop(
                "timer",
                "next_timer",
                &format!("requested {MAX_TIMERS} timers without a packet in between"),
            );
        }
        Python::attach(|py| {
            let Some(method) = &self.handlers.on_timer else { return };
            let (method, view) = (method.bind(py), Queue::of(queue));
            let done = RANDOM.set(rng, || {
                CONTENTS.set(queue.contents, || match self.class.draws_in_timer {
                    true => method.call1((now.0, view, &self.rng)),
                    false => method.call1((now.0, view)),
                })
            });
            if let Err(error) = done {
                self.fail(py, "on_timer", &error);
            }
        });
    }

    fn on_end(&mut self, now: Time, export: &mut dyn FnMut(&str, &str)) {
        self.now = now;
        if self.handlers.on_end.is_none() && self.class.exports.is_empty() {
            return;
        }
        Python::attach(|py| {
            if let Some(method) = &self.handlers.on_end
                && let Err(error) = method.bind(py).call1((now.0,))
            {
                self.fail(py, "on_end", &error);
            }
            for name in &self.class.exports {
                match as_json(self.instance.bind(py), name) {
                    Ok(value) => export(name, &value),
                    Err(error) => {
                        let why = error.value(py).to_string();
                        self.stop("exports", "exports", &format!("{name:?} {why}; allowed: {EXPORTABLE}"))
                    }
                }
            }
        });
    }

    fn probe(&self, field: &mut dyn FnMut(&'static str, f64)) {
        let Some(method) = &self.handlers.probe else { return };
        Python::attach(|py| {
            let values = match method.bind(py).call0() {
                Ok(values) => values,
                Err(error) => self.fail(py, "probe", &error),
            };
            for probe in self.class.probes {
                let value = values.get_item(probe.name).and_then(|value| value.extract::<f64>());
                let Ok(value) = value else {
                    self.stop(
                        "probes",
                        "probe",
                        &format!(
                            "gave no number for {:?}; allowed: a dict with every name in probes",
                            probe.name
                        ),
                    )
                };
                if !value.is_finite() {
                    self.stop(
                        "finite",
                        "probe",
                        &format!("gave {} = {value}; allowed: finite numbers", probe.name),
                    );
                }
                field(probe.name, value);
            }
            if values.len().is_ok_and(|n| n != self.class.probes.len()) {
                self.stop("probes", "probe", "gave a name that probes does not declare");
            }
        });
    }

    fn clone_box(&self) -> Box<dyn Aqm> {
        Python::attach(|py| {
            let copied = (|| {
                let copy = py.import("copy")?.getattr("deepcopy")?.call1((&self.instance,))?;
                PythonAqm::new(self.class.clone(), &copy)
            })();
            match copied {
                Ok(mut copy) => {
                    (copy.now, copy.timers) = (self.now, self.timers);
                    Box::new(copy) as Box<dyn Aqm>
                }
                Err(error) => self.fail(py, "__deepcopy__", &error),
            }
        })
    }
}
