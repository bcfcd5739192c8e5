//! Packets at the measured queue from some time on, with the decision about each in words.

use crate::{
    EVENTS_PER_SLICE,
    decision::{DEQUEUE, DROP, ENQUEUE, Moment, State, Words},
};
use serde::Serialize;
use sojourn_aqm::{Cause, Time};
use sojourn_sim::{
    Control, PacketColumns, Plan, PlanError, RunError, Running, Simulation, States, plan::Trace,
};
use std::collections::BTreeMap;

/// Some time at the queue.
#[derive(Serialize)]
struct Scene {
    /// Its begin and its end, s.
    from: f64,
    until: f64,
    /// Whether the run is over.
    over: bool,
    /// What waits at its begin, in order of arrival.
    waiting: Vec<Waiting>,
    events: Vec<Event>,
    /// Flows that occur: row, and number of the traffic in the plan.
    flows: BTreeMap<u32, u32>,
}

#[derive(Clone, Serialize)]
struct Waiting {
    arrival: u64,
    flow: u32,
    bytes: u32,
    /// Whether it has a mark.
    ce: bool,
    /// When it arrived, s.
    since: f64,
}

#[derive(Serialize)]
struct Event {
    time: f64,
    /// 0: enqueued, 1: dequeued, 2: dropped, 3: marked.
    event: u8,
    arrival: u64,
    flow: u32,
    bytes: u32,
    /// Whether the packet has a mark.
    ce: bool,
    /// Whether it has not waited.
    #[serde(rename = "wasNew")]
    was_new: bool,
    words: String,
}

/// A run whose packets are shown from some time on.
pub struct Scenes {
    plan: Plan,
    running: Running,
    reader: Reader,
    over: bool,
}

impl Scenes {
    /// Set up a run of `plan`, to show about `most` events from `from` on.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn new(plan: Plan, seed: u64, from: Time, most: usize) -> Result<Scenes, PlanError> {
        let trace =
            Trace { packets: true, interval: None, drops: false, cwnd: false, flows: None, ..plan.trace };
        let plan = Plan { trace, ..plan };
        let mut running = Simulation::new(&plan, seed)?.start();
        running.keep_states();
        let words = Words::new(&plan, running.spec());
        let reader = Reader {
            from,
            most,
            words,
            waiting: BTreeMap::new(),
            state: Vec::new(),
            scene: None,
            is_full: false,
        };
        Ok(Scenes { plan, running, reader, over: false })
    }

    /// Simulate the next slice; whether the scene is complete.
    ///
    /// # Errors
    /// As [`Running::advance`].
    pub fn advance(&mut self) -> Result<bool, RunError> {
        self.over = self.running.advance(EVENTS_PER_SLICE, &Control::default())?;
        let (packets, states) = self.running.take_packets();
        self.reader.read(&packets, &states, &self.running);
        Ok(self.over || self.reader.is_full)
    }

    /// JSON of the scene.
    pub fn finish(mut self) -> String {
        let mut scene = self.reader.scene.take().unwrap_or_else(|| self.reader.open());
        scene.over = self.over && !self.reader.is_full;
        if scene.over {
            scene.until = self.plan.duration.as_secs_f64();
        }
        crate::json(&scene)
    }
}

/// Reads the log of a run from its begin.
struct Reader {
    from: Time,
    most: usize,
    words: Words,
    /// What waits, by arrival.
    waiting: BTreeMap<u64, Waiting>,
    /// The latest state of the algorithm.
    state: Vec<f64>,
    scene: Option<Scene>,
    /// The scene has its last event.
    is_full: bool,
}

impl Reader {
    /// Whether what happens at `now` is not part of the scene any more: it ends between two times.
    fn is_after(&self, now: f64) -> bool {
        self.scene.as_ref().is_some_and(|scene| scene.events.len() >= self.most && now > scene.until)
    }

    /// The scene before its first event.
    fn open(&self) -> Scene {
        Scene {
            from: seconds(self.from.0),
            until: seconds(self.from.0),
            over: false,
            waiting: self.waiting.values().cloned().collect(),
            events: Vec::new(),
            flows: BTreeMap::new(),
        }
    }

    fn read(&mut self, log: &PacketColumns, states: &States, running: &Running) {
        let mut row = 0;
        for (until, values) in &states.values {
            let before = std::mem::replace(&mut self.state, values.clone());
            while row < *until {
                self.event(log, row, *until, &states.names, &before, running);
                row += 1;
            }
        }
    }

    /// Read a row of the log, one of those until `end` that belong to the same arrival or departure.
    fn event(
        &mut self,
        log: &PacketColumns,
        row: usize,
        end: usize,
        names: &[String],
        before: &[f64],
        running: &Running,
    ) {
        if self.is_after(seconds(log.time_ns[row])) {
            self.is_full = true;
        }
        if self.is_full {
            return;
        }
        let (now, event, arrival, bytes) =
            (log.time_ns[row], log.event[row], log.arrival[row], log.bytes[row]);
        let flow = running.row(log.flow[row]);
        if now >= self.from.0 && self.scene.is_none() {
            self.scene = Some(self.open());
        }
        let since = self.waiting.get(&arrival).map(|one| one.since);
        let (ce, was_new, since) = (log.ecn[row] == 3, since.is_none(), since.unwrap_or(seconds(now)));
        let words = self.words.describe(&Moment {
            now: seconds(now),
            event,
            cause: Cause::ALL.get(log.reason[row] as usize).copied(),
            sojourn: seconds(now) - since,
            waiting: log.queue_packets[row],
            before: State { names, values: before },
            after: State { names, values: &self.state },
            later: log.event[row + 1..end].iter().filter(|other| **other == DROP).count() as u32,
        });
        match event {
            ENQUEUE => {
                self.waiting.insert(arrival, Waiting { arrival, flow, bytes, ce, since });
            }
            DEQUEUE | DROP => {
                self.waiting.remove(&arrival);
            }
            _ => {}
        }
        let Some(scene) = &mut self.scene else { return };
        scene.events.push(Event { time: seconds(now), event, arrival, flow, bytes, ce, was_new, words });
        scene.until = seconds(now);
        scene.flows.insert(flow, running.traffic(log.flow[row]));
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
