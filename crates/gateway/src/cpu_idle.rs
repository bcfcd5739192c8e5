//! Prevents idle states of processors, with a thread on each that spins at the lowest priority.
//!
//! The host of a virtual machine may reschedule an idle virtual processor 0.1 s late. All senders, receivers
//! and the gateway then stall during a measurement.

use crate::device::run_idle_on;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Keeps processors busy until it is dropped.
#[derive(Debug)]
pub struct IdleGuard {
    stop: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl IdleGuard {
    /// Keep `processors` busy, except those where such a thread is not permitted.
    pub fn new(processors: &[usize]) -> IdleGuard {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |&processor| {
            let stop = Arc::clone(&stop);
            let spin = move || {
                let is_permitted = run_idle_on(processor);
                // No spin-loop hint: a hypervisor may deschedule the processor because of it.
                while is_permitted && !stop.load(Ordering::Relaxed) {}
            };
            thread::Builder::new().name("sojourn-awake".to_owned()).spawn(spin).ok()
        };
        let threads = processors.iter().filter_map(spin).collect();
        IdleGuard { stop, threads }
    }
}

impl Drop for IdleGuard {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // the thread does not panic
        }
    }
}
