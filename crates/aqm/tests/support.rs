//! The environment of an algorithm in tests: a queue given by its numbers, and scripted random numbers.

use sojourn_aqm::{
    Aqm, Class, Contents, Context, Ecn, FlowId, Limit, PacketView, QueueView, Random, Spec, Time, Verdict,
};

/// Random numbers from a list; drawing more than the list has, or fewer, fails the test.
pub(crate) struct Scripted(Vec<f64>);

impl Scripted {
    /// These numbers, in this order.
    pub(crate) fn new(numbers: &[f64]) -> Scripted {
        Scripted(numbers.iter().rev().copied().collect())
    }
    /// Every number was drawn.
    pub(crate) fn assert_used(&self, place: &str) {
        assert!(self.0.is_empty(), "{place}: {} numbers were not drawn", self.0.len());
    }
}

impl Random for Scripted {
    fn uniform(&mut self) -> f64 {
        self.0.pop().expect("more random numbers were drawn than the vector has")
    }
}

/// A queue without packets.
pub(crate) struct NoContents;

impl Contents for NoContents {
    fn at(&self, _: u32) -> Option<PacketView> {
        None
    }
    fn of_flow(&self, _: FlowId) -> u32 {
        0
    }
    fn of_class(&self, _: Class) -> u32 {
        0
    }
}

/// The link of vectors that specify no other: 10 Mbit/s, packets of 1000 bytes, a buffer of 100 packets.
pub(crate) fn context() -> Context {
    Context::new(10_000_000, Limit::Packets(100)).with_mean_packet(1000)
}

/// A packet without ECN.
pub(crate) fn packet(bytes: u32) -> PacketView {
    PacketView::new(bytes, Time::ZERO)
}

/// An ECN-capable packet.
pub(crate) fn ect(bytes: u32) -> PacketView {
    packet(bytes).with_ecn(Ecn::Ect0)
}

/// A time in seconds.
pub(crate) fn at(seconds: f64) -> Time {
    Time((seconds * 1e9).round() as u64)
}

/// An algorithm on a link, with a queue that the test specifies.
pub(crate) struct Bench {
    /// The algorithm under test.
    pub(crate) aqm: Box<dyn Aqm>,
    /// Its link.
    pub(crate) context: Context,
}

impl Bench {
    /// Build `spec` for `context`.
    pub(crate) fn new(spec: &str, context: Context) -> Bench {
        let aqm = Spec::parse(spec).and_then(|s| s.build(context)).unwrap_or_else(|e| panic!("{spec}: {e}"));
        Bench { aqm, context }
    }

    fn view(&self, packets: u32, bytes: u64) -> QueueView<'static> {
        QueueView::new(packets, bytes, self.context.limit, self.context.link_rate, &NoContents)
    }

    /// A queue of `packets` packets of the mean size.
    pub(crate) fn queue(&self, packets: u32) -> QueueView<'static> {
        self.view(packets, u64::from(packets) * u64::from(self.context.mean_packet))
    }

    /// A queue of `packets` packets, `bytes` in all.
    pub(crate) fn queue_of(&self, packets: u32, bytes: u64) -> QueueView<'static> {
        self.view(packets, bytes)
    }

    /// A queue of `bytes`.
    pub(crate) fn queue_bytes(&self, bytes: u64) -> QueueView<'static> {
        self.view((bytes / u64::from(self.context.mean_packet)) as u32, bytes)
    }

    /// An arrival that fits and finds `queue`; exactly `numbers` are drawn.
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        numbers: &[f64],
    ) -> Verdict {
        let mut rng = Scripted::new(numbers);
        let verdict = self.aqm.on_fit(now, packet, queue, &mut rng);
        rng.assert_used("arrival");
        verdict
    }

    /// The next timer expires with `queue`.
    pub(crate) fn tick(&mut self, queue: &QueueView) -> Time {
        let now = self.aqm.next_timer().expect("this algorithm has a timer");
        self.aqm.on_timer(now, queue, &mut Scripted::new(&[]));
        now
    }

    /// The state called `name`.
    pub(crate) fn probe(&self, name: &str) -> f64 {
        let mut found = None;
        self.aqm.probe(&mut |field, value| {
            if field == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no probe {name}"))
    }
}

/// The table in `vectors/NAME.csv`.
pub(crate) fn table(name: &str) -> Table {
    let path = format!("{}/tests/vectors/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    Table::read(&std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")))
}

/// One table of vectors.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Read comma-separated lines; `#` starts a comment.
    pub(crate) fn read(text: &str) -> Table {
        let split = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let mut lines = text.lines().filter(|line| !line.starts_with('#')).map(split);
        let head = lines.next().expect("a table has a head");
        let rows: Vec<_> = lines.collect();
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row.len() == head.len()),
            "the rows have different lengths"
        );
        Table { head, rows }
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().enumerate().map(|(number, cells)| Row { table: self, cells, number: number + 1 })
    }
}

/// One row of a table.
pub(crate) struct Row<'a> {
    table: &'a Table,
    cells: &'a [String],
    number: usize,
}

impl Row<'_> {
    /// The text of the cell of `column`.
    pub(crate) fn word(&self, column: &str) -> &str {
        let index = self.table.head.iter().position(|h| h == column);
        &self.cells[index.unwrap_or_else(|| panic!("no column {column:?} in {:?}", self.table.head))]
    }
    /// The number of `column`, if it has one.
    pub(crate) fn option(&self, column: &str) -> Option<f64> {
        let word = self.word(column);
        (word != "-").then(|| word.parse().unwrap_or_else(|_| panic!("{word:?} is not a number")))
    }
    /// The number of `column`.
    pub(crate) fn number(&self, column: &str) -> f64 {
        self.option(column).unwrap_or_else(|| panic!("row {}: {column} is empty", self.number))
    }
    /// The whole number of `column`.
    pub(crate) fn whole(&self, column: &str) -> u32 {
        self.number(column) as u32
    }
    /// The random numbers of the row: the cell `u`, if any.
    pub(crate) fn draws(&self) -> Vec<f64> {
        self.option("u").into_iter().collect()
    }
    /// `value` is that of `column`, to 1e-8 (the tables have nine digits); an empty cell is not checked.
    pub(crate) fn check(&self, column: &str, value: f64) {
        if let Some(expected) = self.option(column) {
            near(value, expected, &format!("row {} column {column}", self.number));
        }
    }
    /// The verdict is a signal if and only if `column` is yes.
    pub(crate) fn check_signal(&self, column: &str, verdict: Verdict) {
        let expected = match self.word(column) {
            "yes" | "early" | "forced" | "mark" => true,
            "no" | "no (crossing)" | "no mark" | "-" => false,
            other => panic!("{other:?} is neither yes nor no"),
        };
        assert_eq!(verdict != Verdict::Pass, expected, "row {}: {verdict:?}", self.number);
    }
}

/// Equal to 1e-8 of the expected value.
pub(crate) fn near(value: f64, expected: f64, place: &str) {
    assert!((value - expected).abs() <= 1e-8 * expected.abs(), "{place}: {value} instead of {expected}");
}

/// A link of `bytes_per_second`.
pub(crate) fn link(bytes_per_second: u64, limit: Limit) -> Context {
    context().with_link_rate(8 * bytes_per_second).with_limit(limit)
}

/// A bench whose first update has set the probability to about `p`.
pub(crate) fn with_probability(spec: &str, queue: u32) -> Bench {
    let mut bench = Bench::new(spec, context());
    bench.tick(&bench.queue(queue));
    bench
}
