//! Time of an arrival, a departure and their share of the timers, for every algorithm and scheduler with 10,
//! 1,000 and 100,000 flows, under the load of [`sojourn_aqm::inspect`]: `cargo bench -p sojourn-aqm
//! --features criterion -- red/1000`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sojourn_aqm::{
    Context, Spec,
    inspect::{ARRIVALS, Driver, LIMIT, PACKET, Subject},
    registry,
};

const LINK: Context = Context::new(20_000_000, LIMIT).with_mean_packet(PACKET).with_ecn(true);

fn subjects() -> impl Iterator<Item = (&'static str, Subject)> {
    let aqms = registry::ALGORITHMS.iter().map(|algorithm| {
        let aqm = Spec::parse(algorithm.name).and_then(|spec| spec.build(LINK));
        (algorithm.name, Subject::Aqm(aqm.expect("defaults fit")))
    });
    aqms.chain(registry::SCHEDULERS.iter().map(|discipline| {
        let name = discipline.algorithm.name;
        let scheduler = Spec::parse_scheduler(name).and_then(|spec| spec.schedule(LINK));
        (name, Subject::Scheduler(scheduler.expect("defaults fit")))
    }))
}

fn decisions(criterion: &mut Criterion) {
    for (name, subject) in subjects() {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(ARRIVALS));
        for flows in [10, 1_000, 100_000] {
            let mut driver = Driver::new(subject.clone(), LINK.link_rate, flows);
            group.bench_function(BenchmarkId::from_parameter(flows), |bencher| {
                bencher.iter(|| driver.run(ARRIVALS as u32, &mut || 0));
            });
        }
    }
}

criterion_group!(benches, decisions);
criterion_main!(benches);
