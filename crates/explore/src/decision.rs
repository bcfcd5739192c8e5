//! What an algorithm has decided about a packet, in words: from the log of packets and the algorithm's state.

use sojourn_aqm::{Cause, Context, Limit, Settings, Spec, Value};
use sojourn_sim::Plan;

/// An event of a packet at the queue: the codes of the log.
pub(crate) const ENQUEUE: u8 = 0;
pub(crate) const DEQUEUE: u8 = 1;
pub(crate) const DROP: u8 = 2;

/// One event, with the state of the algorithm before the arrival or departure that it belongs to, and after.
pub(crate) struct Moment<'a> {
    pub(crate) now: f64,
    pub(crate) event: u8,
    pub(crate) cause: Option<Cause>,
    /// Time in the queue, s.
    pub(crate) sojourn: f64,
    /// Packets that wait afterwards.
    pub(crate) waiting: u32,
    pub(crate) before: State<'a>,
    pub(crate) after: State<'a>,
    /// Drops at the same departure that follow.
    pub(crate) later: u32,
}

/// Probes of the algorithm.
#[derive(Clone, Copy)]
pub(crate) struct State<'a> {
    pub(crate) names: &'a [String],
    pub(crate) values: &'a [f64],
}

impl State<'_> {
    fn get(&self, name: &str) -> Option<f64> {
        let place = self.names.iter().position(|known| known == name)?;
        self.values.get(place).copied()
    }

    fn value(&self, name: &str) -> f64 {
        self.get(name).unwrap_or(0.0)
    }
}

/// The parameters that the words mention, and where CoDel is in its dropping state.
pub(crate) struct Words {
    /// s
    target: Option<f64>,
    interval: f64,
    /// As in a spec.
    thresholds: String,
    drops: u32,
}

impl Words {
    pub(crate) fn new(plan: &Plan, spec: &str) -> Words {
        let spec = Spec::parse_with(spec, &plan.algorithms).ok();
        let value = |name: &str| {
            let spec = spec.as_ref()?;
            spec.algorithm.param(name)?;
            let context = Context::new(0, Limit::Packets(0)).with_conventions(plan.conventions);
            Settings { spec, context }.get(name)
        };
        let span = |name: &str| match value(name) {
            Some(Value::Span(span)) => Some(span.as_secs_f64()),
            _ => None,
        };
        let named = |name: &str| value(name).map(|value| format!("{name} {value}"));
        let thresholds: Vec<String> = ["min_th", "max_th"].into_iter().filter_map(named).collect();
        Words {
            target: span("target"),
            interval: span("interval").unwrap_or(0.0),
            thresholds: thresholds.join(", "),
            drops: 0,
        }
    }

    /// Describe an event; they are passed in order of time.
    pub(crate) fn describe(&mut self, moment: &Moment<'_>) -> String {
        let verb = match moment.event {
            ENQUEUE => "enqueued",
            DEQUEUE => "sent",
            DROP => "dropped",
            _ => "marked",
        };
        let state = moment.after;
        let why = match moment.cause {
            Some(Cause::Overflow) => format!("the buffer is full, {} packets wait", moment.waiting),
            Some(Cause::FlowLimit) => "its flow exceeds its share".to_owned(),
            Some(Cause::Profile) => "it is outside the traffic profile".to_owned(),
            _ if state.get("first_above_time").is_some() => self.control_law(moment),
            _ if state.get("avg").is_some() => self.average(moment),
            _ if state.get("p").is_some() => self.probability(moment),
            _ => self.delay(moment),
        };
        format!("{verb}: {why}")
    }

    /// CoDel decides when a packet is taken from the head of the queue.
    fn control_law(&mut self, moment: &Moment<'_>) -> String {
        let Moment { now, before, after, later, .. } = *moment;
        if moment.event == ENQUEUE {
            return format!("{} packets wait; CoDel decides at the head of the queue", moment.waiting);
        }
        let (target, sojourn) = (self.target.unwrap_or(0.0), moment.sojourn);
        let above = |state: State<'_>| now - (state.value("first_above_time") - self.interval);
        let height = format!("sojourn {}, above target {}", time(sojourn), time(target));
        let is_dropping = after.value("dropping") == 1.0;
        let next = time((after.value("drop_next") - now).max(0.0));
        if moment.event == DEQUEUE {
            return match () {
                () if sojourn < target => format!("sojourn {}, below target {}", time(sojourn), time(target)),
                () if is_dropping => format!("{height}; the next drop is due in {next}"),
                () if after.value("first_above_time") > 0.0 => {
                    format!(
                        "{height} for {} of the {} before a drop",
                        time(above(after)),
                        time(self.interval)
                    )
                }
                () => format!("{height}, but at most one packet waits behind it"),
            };
        }
        let what = if moment.event == DROP { "drop" } else { "mark" };
        if before.value("dropping") != 1.0 {
            self.drops = 0;
        }
        self.drops += 1;
        let count = after.value("count") - f64::from(later);
        let number = ordinal(self.drops);
        let then = match () {
            () if later > 0 => "the next packet is due at once".to_owned(),
            () if is_dropping => format!("next in {next}"),
            () => "the next packet ends the dropping state".to_owned(),
        };
        format!("{height} for {}; {number} {what} (count {count}); {then}", time(above(before)))
    }

    /// RED and its relatives decide at arrival, by an average of the queue.
    fn average(&self, moment: &Moment<'_>) -> String {
        if moment.event == DEQUEUE {
            return format!("after {} in the queue", time(moment.sojourn));
        }
        let Moment { after, .. } = moment;
        let average = format!("average queue {:.1} ({})", after.value("avg"), self.thresholds);
        match (after.get("p_a").or(after.get("p")), moment.cause) {
            (_, Some(Cause::Forced)) => format!("{average}: every packet is"),
            (Some(p), Some(_)) => format!("{average}; probability {}, and it was drawn", share(p)),
            (Some(p), None) if p > 0.0 => format!("{average}; probability {}, not drawn", share(p)),
            _ => format!("{average}; probability 0"),
        }
    }

    /// PIE and its relatives decide by a probability that follows the queue.
    fn probability(&self, moment: &Moment<'_>) -> String {
        let p = moment.after.value("p");
        let mut text = format!("p = {}", share(p));
        if let Some(delay) = moment.after.get("delay") {
            text += &format!(", delay {} at the last update", time(delay));
        }
        if let Some(target) = self.target {
            text += &format!(", target {}", time(target));
        }
        match (moment.event, moment.cause) {
            (DEQUEUE, _) => format!("after {} in the queue; {text}", time(moment.sojourn)),
            (ENQUEUE, _) if p > 0.0 => format!("{text}; not drawn"),
            (_, Some(Cause::Early)) => format!("{text}; drawn"),
            _ => text,
        }
    }

    /// Other algorithms and schedulers.
    fn delay(&self, moment: &Moment<'_>) -> String {
        let sojourn = time(moment.sojourn);
        match (moment.event, self.target) {
            (ENQUEUE, _) => format!("{} packets wait", moment.waiting),
            (DEQUEUE, Some(target)) => format!("after {sojourn} in the queue, target {}", time(target)),
            (DEQUEUE, None) => format!("after {sojourn} in the queue"),
            (_, Some(target)) => format!("sojourn {sojourn}, target {}", time(target)),
            (_, None) => format!("decided by the algorithm, {} packets wait", moment.waiting),
        }
    }
}

/// A time in ms.
fn time(seconds: f64) -> String {
    let ms = seconds * 1e3;
    if ms >= 20.0 { format!("{ms:.0} ms") } else { format!("{ms:.1} ms") }
}

fn share(p: f64) -> String {
    if p >= 0.1 { format!("{:.0} %", p * 100.0) } else { format!("{:.2} %", p * 100.0) }
}

fn ordinal(number: u32) -> String {
    let words =
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
    match words.get(number as usize - 1) {
        Some(word) => (*word).to_owned(),
        None => match (number % 10, number % 100) {
            (1, rest) if rest != 11 => format!("{number}st"),
            (2, rest) if rest != 12 => format!("{number}nd"),
            (3, rest) if rest != 13 => format!("{number}rd"),
            _ => format!("{number}th"),
        },
    }
}
