//! The bins of SFB: a BLUE in each, on several levels, with a hash that changes periodically.

use crate::{FlowId, Random, Span, Stream, Time};
use alloc::vec::Vec;

/// The number of bins, their steps, and the lifetime of a hash.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) levels: usize,
    /// Number of bins on each level.
    pub(super) bins: usize,
    /// Number of packets from which the probability of a bin increases.
    pub(super) bin_size: f64,
    /// Step up and down.
    pub(super) d1: f64,
    pub(super) d2: f64,
    pub(super) freeze_time: Span,
    pub(super) rehash: Span,
    pub(super) warmup: Span,
}

/// The bins of the hash in force and of the next or last one.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    shape: Shape,
    /// By the epoch's parity; `None` before they are first needed.
    tables: [Option<Table>; 2],
}

/// The bins of one hash, in force for one `rehash`.
#[derive(Clone, Debug)]
struct Table {
    /// Which `rehash` of the run it belongs to.
    epoch: u64,
    /// The hash: a stream of numbers for each flow.
    hash: Stream,
    /// The bins of all levels, one level after the other.
    bins: Vec<Bin>,
    /// The places of the flows hashed last.
    places: Places,
}

/// A direct-mapped cache of hashes: row f mod [`ROWS`] has the indices of the bins of flow f, its owner.
#[derive(Clone, Debug, Default)]
struct Places {
    owners: Vec<Option<FlowId>>,
    /// One row after the other, with one index for each level.
    indices: Vec<u16>,
}

/// Number of rows, a power of two.
const ROWS: usize = 256;

impl Places {
    /// The indices of the bins of `flow`: one on each level.
    fn of(&mut self, flow: FlowId, hash: &Stream, shape: &Shape) -> &[u16] {
        if self.owners.is_empty() {
            self.owners.resize(ROWS, None);
            self.indices.resize(ROWS * shape.levels, 0);
        }
        let row = flow.0 as usize % ROWS;
        let indices = &mut self.indices[row * shape.levels..][..shape.levels];
        if self.owners[row] != Some(flow) {
            self.owners[row] = Some(flow);
            indices.iter_mut().zip(places(hash, flow, shape)).for_each(|(to, index)| *to = index);
        }
        indices
    }
}

/// One BLUE.
#[derive(Clone, Debug, Default)]
struct Bin {
    /// Queued packets of its flows.
    packets: u32,
    /// Its probability.
    p: f64,
    /// Time of its last change.
    last_update: Option<Time>,
}

impl Bins {
    pub(super) fn new(shape: Shape) -> Bins {
        Bins { shape, tables: [None, None] }
    }

    /// A packet of `flow` arrives: step its bins; returns their smallest probability and length.
    pub(super) fn arrive(&mut self, now: Time, flow: FlowId, rng: &mut dyn Random) -> (f64, u32) {
        let (epoch, next_too) = self.epoch(now);
        let smallest = self.step(now, epoch, flow, rng);
        if next_too {
            self.step(now, epoch + 1, flow, rng);
        }
        smallest
    }

    /// Count a packet of `flow` that arrived at `arrived` in its bins, or remove it from them.
    pub(super) fn count(&mut self, flow: FlowId, arrived: Time, enters: bool) {
        let (epoch, next_too) = self.epoch(arrived);
        for table in self.tables.iter_mut().flatten() {
            if table.epoch != epoch && !(next_too && table.epoch == epoch + 1) {
                continue;
            }
            for index in table.places.of(flow, &table.hash, &self.shape) {
                let packets = &mut table.bins[usize::from(*index)].packets;
                *packets = if enters { *packets + 1 } else { packets.saturating_sub(1) };
            }
        }
    }

    /// The epoch that is in force at `time`, and whether the bins of the next are being filled.
    fn epoch(&self, time: Time) -> (u64, bool) {
        let Shape { rehash, warmup, .. } = self.shape;
        if rehash == Span::ZERO {
            return (0, false);
        }
        (time.0 / rehash.0, time.0 % rehash.0 >= rehash.0 - warmup.0)
    }

    /// Step the bins of `flow` in the table of `epoch`; returns their smallest probability and length.
    fn step(&mut self, now: Time, epoch: u64, flow: FlowId, rng: &mut dyn Random) -> (f64, u32) {
        let Bins { shape, tables } = self;
        let table = open(tables, shape, epoch, rng);
        let mut smallest = (1.0, u32::MAX);
        for index in table.places.of(flow, &table.hash, shape) {
            let bin = &mut table.bins[usize::from(*index)];
            bin.step(now, shape);
            smallest = (bin.p.min(smallest.0), bin.packets.min(smallest.1));
        }
        smallest
    }
}

/// The bins of `epoch`, created at the first call.
fn open<'a>(
    tables: &'a mut [Option<Table>; 2],
    shape: &Shape,
    epoch: u64,
    rng: &mut dyn Random,
) -> &'a mut Table {
    let slot = &mut tables[(epoch % 2) as usize];
    if slot.as_ref().is_none_or(|table| table.epoch != epoch) {
        let hash = Stream::new((rng.uniform() * (1u64 << 53) as f64) as u64, "sfb");
        let mut bins = slot.take().map_or_else(Vec::new, |last| last.bins);
        bins.clear();
        bins.resize(shape.levels * shape.bins, Bin::default());
        *slot = Some(Table { epoch, hash, bins, places: Places::default() });
    }
    slot.as_mut().expect("the table exists")
}

impl Bin {
    /// A step of BLUE, with the bin's length instead of overflow and idle events.
    fn step(&mut self, now: Time, shape: &Shape) {
        let by = match self.packets {
            0 => -shape.d2,
            n if f64::from(n) >= shape.bin_size => shape.d1,
            _ => return,
        };
        let thawed = |last: Time| shape.freeze_time == Span::ZERO || now.since(last) > shape.freeze_time;
        if self.last_update.is_none_or(thawed) {
            self.p = (self.p + by).clamp(0.0, 1.0);
            self.last_update = Some(now);
        }
    }
}

/// The indices of the bins of `flow`: one on each level.
fn places(hash: &Stream, flow: FlowId, shape: &Shape) -> impl Iterator<Item = u16> + use<> {
    let (levels, bins) = (shape.levels, shape.bins);
    let mut numbers = hash.indexed(u64::from(flow.0));
    (0..levels).map(move |level| (level * bins + (numbers.bits() % bins as u64) as usize) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::String};

    struct Always(f64);
    impl Random for Always {
        fn uniform(&mut self) -> f64 {
            self.0
        }
    }

    /// Vector V1, which lists the bins of its flows; accepted packets are counted.
    #[test]
    fn v1_steps_the_bins_of_a_flow() {
        let shape = Shape {
            levels: 2,
            bins: 2,
            bin_size: 2.0,
            d1: 0.1,
            d2: 0.05,
            freeze_time: Span::ZERO,
            rehash: Span::ZERO,
            warmup: Span::ZERO,
        };
        let mut bins = Bins::new(shape.clone());
        let hash = open(&mut bins.tables, &shape, 0, &mut Always(0.5)).hash.clone();
        let flow_in = |bins: [u16; 2]| {
            let mut flows = (0..1000).map(FlowId);
            flows.find(|flow| places(&hash, *flow, &shape).eq(bins)).expect("one of many flows")
        };
        for row in include_str!("../../tests/vectors/sfb_v1.csv").lines().skip(2) {
            let cells: Vec<&str> = row.split(',').collect();
            let number = |i: usize| cells[i].parse::<f64>().expect("a number");
            let flow = match cells[1] {
                "A" => flow_in([0, 2]),
                "B" => flow_in([1, 2]),
                _ => flow_in([0, 3]),
            };
            let (p_min, _) = bins.arrive(Time::ZERO, flow, &mut Always(0.5));
            assert!((p_min - number(2)).abs() < 1e-9, "{row}: {p_min}");
            assert_eq!(number(3) >= p_min, cells[4] == "enqueue", "{row}");
            if cells[4] == "enqueue" {
                bins.count(flow, Time::ZERO, true);
            }
            let bins = &bins.tables[0].as_ref().expect("it is in use").bins;
            let show = |i: usize| format!("{}/{}", bins[i].packets, bins[i + 1].packets);
            assert_eq!((show(0), show(2)), (String::from(cells[5]), String::from(cells[6])), "{row}");
            for (level, column) in [(0, 7), (2, 8)] {
                let (left, right) = cells[column].split_once('/').expect("two bins");
                for (i, p) in [(level, left), (level + 1, right)] {
                    let p: f64 = p.parse().expect("a number");
                    assert!((bins[i].p - p).abs() < 1e-9, "{row}: bin {i} at {}", bins[i].p);
                }
            }
        }
    }
}
