//! One algorithm or scheduler under load, alone in a process. `sojourn bench aqm` counts its instructions and
//! measures its memory.
//!
//! ```text
//! valgrind --tool=callgrind target/release/examples/cost "red max_p 0.02" 1000 20000
//! ```
//!
//! Prints the bytes that a copy of the instance takes after the run.

use sojourn_aqm::{
    Context, Spec,
    inspect::{Driver, LIMIT, PACKET, Subject},
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    env,
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering},
};

/// The system's allocator, with a count of the allocated bytes.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller guarantees the same conditions.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().collect();
    let parsed = match &args[..] {
        [_, spec, flows, packets] => flows.parse().ok().zip(packets.parse().ok()).map(|n| (spec, n)),
        _ => None,
    };
    let Some((spec, (flows, packets))) = parsed else {
        eprintln!("usage: cost SPEC FLOWS PACKETS");
        return ExitCode::from(2);
    };
    let link_rate = 20_000_000;
    let context = Context::new(link_rate, LIMIT).with_mean_packet(PACKET).with_ecn(true);
    let subject = match Spec::parse(spec).and_then(|spec| spec.build(context)) {
        Ok(aqm) => Ok(Subject::Aqm(aqm)),
        Err(error) => match Spec::parse_scheduler(spec).and_then(|spec| spec.schedule(context)) {
            Ok(scheduler) => Ok(Subject::Scheduler(scheduler)),
            Err(_) => Err(error),
        },
    };
    match subject {
        Ok(subject) => {
            let mut driver = Driver::new(subject, link_rate, flows);
            driver.run(packets, &mut || 0);
            let before = ALLOCATED.load(Ordering::Relaxed);
            let copy = driver.subject().clone();
            println!("{}", ALLOCATED.load(Ordering::Relaxed) - before);
            drop(copy);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
