//! The loop: read what came, handle what is due, wait for whichever is next; in a thread of its own.

use crate::{
    device::{Clock, Device, Got, Poll, hurry},
    engine::Engine,
    outcome::{Outcome, Tally},
    plan::Plan,
};
use sojourn_sim::{PlanError, RunError, testbed::Totals};
use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Largest thing that a device gives: a super-packet, or a jumbo frame, with what stands in front.
const LARGEST: usize = 65_536 + 10 + 512;
/// Reads from one device before the others have their turn.
const TURN: usize = 16;
/// To fall asleep and wake up again takes longer, ns.
const TOO_SHORT: u64 = 8_000;
/// Awake this much later than was asked for, ns, and the machine stood still: nobody's packets moved meanwhile.
const STANDSTILL: u64 = 1_000_000;
/// Longest sleep: how soon a request to stop is heard.
const PATIENCE: u64 = 20_000_000;

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The plan.
    #[error("{0}")]
    Plan(PlanError),
    /// A device or the thread.
    #[error("{0}: {1}")]
    Device(String, io::Error),
    /// Packets were not conserved.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What can be seen while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live {
    /// Time since it started, ns.
    pub now: u64,
    /// Of the forward and the backward queue, since the start.
    pub queues: [Totals; 2],
    /// Outside the queues.
    pub tally: Tally,
    /// Whether the thread has real-time priority.
    pub is_realtime: bool,
    /// Devices that have gone.
    pub gone: u32,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    live: Mutex<Live>,
}

/// A gateway that runs.
pub struct Gateway {
    shared: Arc<Shared>,
    thread: thread::JoinHandle<Result<Outcome, RunError>>,
}

impl Gateway {
    /// Start it.
    ///
    /// # Errors
    /// A plan that cannot be, a descriptor that is none.
    pub fn start(plan: &Plan) -> Result<Gateway, GatewayError> {
        let engine = Engine::new(plan).map_err(GatewayError::Plan)?;
        let devices = plan
            .devices
            .iter()
            .map(|one| Device::new(one.fd).map_err(|e| GatewayError::Device(one.name.clone(), e)))
            .collect::<Result<Vec<_>, _>>()?;
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let (end, priority) = (plan.duration.unwrap_or(u64::MAX), plan.priority);
        let thread = thread::Builder::new()
            .name("sojourn-gateway".to_owned())
            .spawn(move || run(engine, devices, end, priority, &its))
            .map_err(|e| GatewayError::Device("thread".to_owned(), e))?;
        Ok(Gateway { shared, thread })
    }

    /// How it stands.
    pub fn live(&self) -> Live {
        *self.shared.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ask it to end now.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Wait for its end.
    ///
    /// # Errors
    /// Packets that appeared or vanished.
    pub fn finish(self) -> Result<Outcome, GatewayError> {
        match self.thread.join() {
            Ok(outcome) => Ok(outcome?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn run(
    mut engine: Engine,
    mut devices: Vec<Device>,
    end: u64,
    priority: u8,
    shared: &Shared,
) -> Result<Outcome, RunError> {
    let is_realtime = hurry(priority);
    let mut buffer = vec![0; LARGEST];
    let mut poll = Poll::new(&devices);
    let mut gone = 0;
    let mut told = 0;
    let mut expected = u64::MAX;
    let clock = Clock::start();
    loop {
        let now = clock.now().min(end);
        let missed = now.saturating_sub(expected);
        let mut write = |device: u32, bytes: &[u8], due: u64| {
            let late = clock.now().saturating_sub(due);
            devices[device as usize].write(bytes).then_some(late)
        };
        engine.advance(now, &mut write);
        if missed > STANDSTILL {
            engine.stood_still(missed);
        }
        let is_over = now >= end || shared.stop.load(Ordering::Relaxed);
        if is_over || now - told >= PATIENCE {
            told = now;
            let queues = [0, 1].map(|link| engine.queues().totals(link));
            let live = Live { now, queues, tally: engine.tally(), is_realtime, gone };
            *shared.live.lock().unwrap_or_else(PoisonError::into_inner) = live;
        }
        if is_over {
            return engine.finish(now);
        }
        let next = engine.next_due().map_or(u64::MAX, |due| due.saturating_sub(clock.now()));
        let left = end.saturating_sub(clock.now());
        let wait = next.min(PATIENCE).min(left);
        expected = now + wait;
        poll.wait(Duration::from_nanos(if wait < TOO_SHORT { 0 } else { wait }));
        for i in 0..devices.len() {
            if !poll.is_ready(i) {
                continue;
            }
            for _ in 0..TURN {
                match devices[i].read(&mut buffer) {
                    Got::Bytes(length) => {
                        let now = clock.now();
                        if now < end {
                            engine.take(now, &buffer[..length]);
                        }
                        if engine.next_due().is_some_and(|due| due < now) {
                            break; // something else is late already
                        }
                    }
                    Got::Nothing => break,
                    Got::Gone => {
                        gone += 1;
                        poll = Poll::new(&devices);
                        break;
                    }
                }
            }
        }
    }
}
