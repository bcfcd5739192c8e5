//! The main loop, in a thread of its own: read packets, handle events, wait for the next packet or event.

use crate::{
    device::{Clock, Device, Poll, set_real_time},
    engine::Engine,
    plan::Plan,
    record::{GatewayRecord, Stats},
    turn::{self, Turn},
};
use sojourn_aqm::{Span, Time};
use sojourn_sim::{PlanError, RunError, testbed::Totals};
use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// The largest read: a super-packet or a jumbo frame, with its `virtio_net_hdr`.
const MAX_READ: usize = 65_536 + 10 + 512;
/// A shorter wait is no sleep: a sleep and wake-up takes longer.
const MIN_SLEEP: Span = Span(8_000);
/// A wake-up that is later than this counts as a stall of the machine, in which no process forwarded packets.
const MIN_STALL: Span = Span(1_000_000);
/// The longest sleep, which bounds the delay of a stop request, and the time between two updates of [`Live`].
const MAX_SLEEP: Span = Span(20_000_000);

/// The reason why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The plan was refused.
    #[error("{0}")]
    Plan(PlanError),
    /// A device or the thread failed.
    #[error("{0}: {1}")]
    Device(String, io::Error),
    /// Packets were not conserved.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// The state of a running gateway.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live {
    /// Time since its start.
    pub now: Time,
    /// Counters of the forward and the backward queue, since the start.
    pub queues: [Totals; 2],
    /// Counters outside the queues.
    pub stats: Stats,
    /// Whether the thread has real-time priority.
    pub is_realtime: bool,
    /// Devices that were deleted.
    pub gone: u32,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    live: Mutex<Live>,
}

/// A running gateway.
pub struct Gateway {
    shared: Arc<Shared>,
    thread: thread::JoinHandle<Result<GatewayRecord, RunError>>,
}

impl Gateway {
    /// Start a gateway.
    ///
    /// # Errors
    /// An invalid plan or descriptor.
    pub fn start(plan: &Plan) -> Result<Gateway, GatewayError> {
        let engine = Engine::new(plan).map_err(GatewayError::Plan)?;
        let devices = plan
            .devices
            .iter()
            .map(|one| Device::new(one.fd, one.tap).map_err(|e| GatewayError::Device(one.name.clone(), e)))
            .collect::<Result<Vec<_>, _>>()?;
        let shared = Arc::new(Shared::default());
        let shared_with_thread = Arc::clone(&shared);
        let (end, priority) =
            (plan.duration.map_or(Time::NEVER, |duration| Time::ZERO + duration), plan.priority);
        let thread = thread::Builder::new()
            .name("sojourn-gateway".to_owned())
            .spawn(move || run(engine, devices, end, priority, &shared_with_thread))
            .map_err(|e| GatewayError::Device("thread".to_owned(), e))?;
        Ok(Gateway { shared, thread })
    }

    /// Its current state.
    pub fn live(&self) -> Live {
        *self.shared.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Request its end.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Wait for its end and return its record.
    ///
    /// # Errors
    /// Inconsistent packet counts.
    pub fn finish(self) -> Result<GatewayRecord, GatewayError> {
        match self.thread.join() {
            Ok(record) => Ok(record?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn run(
    mut engine: Engine,
    mut devices: Vec<Device>,
    end: Time,
    priority: u8,
    shared: &Shared,
) -> Result<GatewayRecord, RunError> {
    let is_realtime = set_real_time(priority);
    let mut buffer = vec![0; MAX_READ];
    let mut poll = Poll::new(&devices);
    let mut gone = 0;
    let mut updated = Time::ZERO;
    let mut wake_up = Time::NEVER;
    let clock = Clock::start();
    loop {
        let now = clock.now().min(end);
        let missed = now - wake_up;
        // A device that is not ready had no packet at `now`; packets of the others are read up to `settled`.
        poll.wait(Span::ZERO);
        let mut settled = now;
        for i in 0..devices.len() {
            if !poll.is_ready(i) {
                continue;
            }
            match turn::take(&mut engine, &mut devices[i], &mut buffer, end, || clock.now()) {
                Turn::Emptied => {}
                Turn::Unfinished(arrived) => settled = settled.min(arrived),
                Turn::Gone => {
                    gone += 1;
                    poll = Poll::new(&devices);
                    poll.wait(Span::ZERO);
                }
            }
        }
        let is_over = now >= end || shared.stop.load(Ordering::Relaxed);
        let now = if is_over { now } else { clock.now().min(end) };
        let mut write = |device: u32, bytes: &[u8], time: Time| {
            let lateness = clock.now() - time;
            devices[device as usize].write(bytes).then_some(lateness)
        };
        engine.catch_up(if is_over { now } else { settled }, now, &mut write);
        if missed > MIN_STALL {
            engine.on_stall(missed);
        }
        if is_over || now - updated >= MAX_SLEEP {
            updated = now;
            let queues = [0, 1].map(|link| engine.queues().totals(link));
            let live = Live { now, queues, stats: engine.stats(), is_realtime, gone };
            *shared.live.lock().unwrap_or_else(PoisonError::into_inner) = live;
        }
        if is_over {
            return engine.finish(now);
        }
        let next = engine.next_deadline().unwrap_or(Time::NEVER).min(end);
        let wait = (next - clock.now()).min(MAX_SLEEP);
        wake_up = now + wait;
        if wait >= MIN_SLEEP {
            poll.wait(wait);
        }
    }
}
