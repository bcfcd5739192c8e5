//! Keeps processors awake: a thread for each spins where it is told to, and only while nobody else wants to run there.
//!
//! A processor of a virtual machine that falls asleep is lent to others, and may be back a tenth of a second late. All
//! senders, receivers and the gateway then stand still for that time, in the middle of what is measured.

use crate::device::idle_on;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Processors are awake until this is dropped.
#[derive(Debug)]
pub struct Awake {
    is_over: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Awake {
    /// Keep `processors` awake: those that may not be used, or not at the lowest priority, are left alone.
    pub fn keep(processors: &[usize]) -> Awake {
        let is_over = Arc::new(AtomicBool::new(false));
        let spin = |&processor| {
            let is_over = Arc::clone(&is_over);
            let spin = move || {
                let is_idle = idle_on(processor);
                // No hint that this loop waits: a virtual machine may take the processor away for it.
                while is_idle && !is_over.load(Ordering::Relaxed) {}
            };
            thread::Builder::new().name("sojourn-awake".to_owned()).spawn(spin).ok()
        };
        let threads = processors.iter().filter_map(spin).collect();
        Awake { is_over, threads }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // it cannot panic, and if it did it would be over
        }
    }
}
