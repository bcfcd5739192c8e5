//! Run a plan (JSON) without Python and print its counters, those of the measured queue and the sums over all
//! queues (`offered`, `dropped`). Benchmarks count the instructions of this program.
//!
//! ```text
//! cargo run --release -p sojourn-sim --example plan -- plan.json 1
//! ```

use sojourn_sim::{Control, Plan, Simulation};
use std::{env, fs, process::ExitCode};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().collect();
    let [_, path, seed] = &args[..] else {
        eprintln!("usage: plan PLAN.json SEED");
        return ExitCode::from(2);
    };
    match run(path, seed) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(path: &str, seed: &str) -> Result<String, Box<dyn std::error::Error>> {
    let plan: Plan = serde_json::from_str(&fs::read_to_string(path)?)?;
    let record = Simulation::new(&plan, seed.parse()?)?.run(&Control::default())?;
    let queue = &record.queues[0];
    let seconds = (record.window.end - record.window.start).as_secs_f64();
    let drops: u64 = queue.drops.iter().sum();
    let offered: u64 = record.queues.iter().map(|queue| queue.arrivals).sum();
    let dropped: u64 = record.queues.iter().flat_map(|queue| &queue.drops).sum();
    let timeouts: u64 = record.flows.timeouts.iter().sum();
    let goodput: u64 = record.flows.goodput_bytes.iter().sum();
    let mean = queue.packet_ns / seconds * 1e-9;
    Ok(format!(
        "events={} offered={offered} dropped={dropped} arrivals={} utilization={:.5} drop_ratio={:.5} mark_ratio={:.5} mean_queue={:.3} std_queue={:.3} timeouts={timeouts} goodput_mbps={:.4} peak_bytes={}",
        record.events,
        queue.arrivals,
        queue.departed_bytes as f64 * 8.0 / queue.capacity_bits,
        drops as f64 / queue.arrivals.max(1) as f64,
        queue.marks.iter().sum::<u64>() as f64 / queue.arrivals.max(1) as f64,
        mean,
        (queue.packet_squared_ns / seconds * 1e-9 - mean * mean).max(0.0).sqrt(),
        goodput as f64 * 8.0 / seconds / 1e6,
        peak_bytes().unwrap_or(0),
    ))
}

/// The peak resident memory of this process without file mappings, on systems that report it.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()
    };
    Some((kibibytes("VmHWM:")? - kibibytes("RssFile:")?) * 1024)
}
