//! The schema of the TCP options: name, meaning, default by the RFCs, and values under the presets. Scenario
//! validation, documentation tables and presets are generated from it.
//!
//! `ns2` is ns-2.35; `ns2-2004` has its defaults from 2002 to 2007; `ns2-2001` those until late 2001; `linux`
//! is Linux 6.1.

use super::options::{
    CubicForm, DctcpForm, Ect, Exit, Halve, HyStartForm, LossDetection, Marks, Recovery, Scoreboard,
    TcpOptions, Timer, Variant,
};
use sojourn_aqm::{Conventions, DefaultValue, Kind, Param, Range, Span, SpecError, Value, allowed, units};

/// An option with its values under the presets.
#[derive(Clone, Copy, Debug)]
pub struct TcpParam {
    /// Name, meaning, default; `param.ns2` is the value under `ns2`.
    pub param: Param,
    /// The value under `ns2-2004`, if not that of `ns2`.
    pub ns2_2004: Option<&'static str>,
    /// The value under `ns2-2001`, if not that of `ns2`.
    pub ns2_2001: Option<&'static str>,
    /// The value under `linux`, if not the default.
    pub linux: Option<&'static str>,
}

impl TcpParam {
    /// The value under a preset, in the grammar of the scenario file.
    pub fn under(&self, conventions: Conventions) -> &'static str {
        let default = match self.param.default {
            DefaultValue::Value(word) | DefaultValue::Derived(word) => word,
        };
        let ns2 = self.param.ns2.unwrap_or(default);
        match conventions {
            Conventions::Ns2 => ns2,
            Conventions::Ns2_2004 => self.ns2_2004.unwrap_or(ns2),
            Conventions::Ns2_2001 => self.ns2_2001.unwrap_or(ns2),
            Conventions::Linux => self.linux.unwrap_or(default),
            _ => default,
        }
    }

    const fn ns2_2004(mut self, word: &'static str) -> TcpParam {
        self.ns2_2004 = Some(word);
        self
    }
    const fn ns2_2001(mut self, word: &'static str) -> TcpParam {
        self.ns2_2001 = Some(word);
        self
    }
    const fn linux(mut self, word: &'static str) -> TcpParam {
        self.linux = Some(word);
        self
    }
}

const fn option(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    ns2: Option<&'static str>,
    doc: &'static str,
    source: &'static str,
) -> TcpParam {
    let mut param = Param::new(name, kind, DefaultValue::Value(default), doc).source(source);
    param.ns2 = ns2;
    TcpParam { param, ns2_2004: None, ns2_2001: None, linux: None }
}

const fn with(mut option: TcpParam, unit: &'static str, range: Range) -> TcpParam {
    option.param.unit = unit;
    option.param.range = range;
    option
}

const COUNT: Range = Range { min: 0.0, max: 4e9, above: false, below: true };
const AT_LEAST_ONE: Range = Range { min: 1.0, max: 1e9, above: false, below: false };

/// Every option, in the order of tables.
pub static OPTIONS: [TcpParam; 34] = [
    option(
        "variant",
        Kind::Choice(Variant::WORDS),
        "newreno",
        None,
        "congestion control and, for the first four, loss recovery; the others use that of sack",
        "Jacobson 1988; RFC 5681, 6582, 6675, 9438, 8257, 6817; Linux; Internet-Drafts",
    )
    .linux("cubic"),
    option(
        "cubic",
        Kind::Choice(CubicForm::WORDS),
        "rfc9438",
        None,
        "form of CUBIC: with real numbers as in the RFC, or in whole packets and clock ticks as in Linux",
        "RFC 9438",
    )
    .linux("linux"),
    option(
        "dctcp",
        Kind::Choice(DctcpForm::WORDS),
        "rfc8257",
        None,
        "form of DCTCP: with real numbers as in the RFC, or in whole packets and 1024ths as in Linux",
        "RFC 8257",
    )
    .linux("linux"),
    option(
        "hystart",
        Kind::Choice(&["auto", "off", "linux", "rfc9406"]),
        "off",
        None,
        "end of slow start before a loss: HyStart of Linux's CUBIC, or HyStart++; both need rack, which times \
         every packet; auto: linux for Linux's CUBIC, else off",
        "RFC 5681; Linux; RFC 9406",
    )
    .linux("auto"),
    option(
        "sack",
        Kind::Choice(&["auto", "on", "off"]),
        "auto",
        None,
        "selective acknowledgements; auto: by the variant, and where rack or prr need them",
        "RFC 2018",
    )
    .linux("on"),
    option(
        "loss_detection",
        Kind::Choice(LossDetection::WORDS),
        "dupack",
        None,
        "three duplicate ACKs, or RACK-TLP: a packet sent later was delivered, and a probe for a lost tail; bbr \
         needs rack",
        "RFC 5681, 6675; 8985",
    )
    .linux("rack"),
    option(
        "recovery",
        Kind::Choice(Recovery::WORDS),
        "window",
        None,
        "the window is reduced at once, or in proportion to delivered data (with rack also for a mark)",
        "RFC 5681, 6675; 6937",
    )
    .linux("prr"),
    option(
        "byte_counting",
        Kind::Flag,
        "off",
        None,
        "the window grows by the packets an ACK acknowledges (without the limit L in slow start), not per ACK",
        "RFC 3465; off as in RFC 5681",
    )
    .linux("on"),
    option(
        "pacing",
        Kind::Choice(&["auto", "on", "off"]),
        "auto",
        None,
        "packets leave at two windows per round trip in slow start and 1.2 afterwards, not in bursts; excludes \
         overhead; auto: on for bbr and prague, which set the rate themselves, else off",
        "Linux without the discipline fq: off unless the congestion control paces",
    ),
    option(
        "ecn",
        Kind::Flag,
        "off",
        None,
        "packets are ECN-capable and marks halve the window (on when the queue's ecn is, and for prague)",
        "RFC 3168",
    ),
    option(
        "ect",
        Kind::Choice(&["auto", "ect0", "ect1"]),
        "auto",
        None,
        "codepoint of ECN-capable packets; auto: ECT(1), the identifier of L4S, for dctcp and prague, else ECT(0)",
        "RFC 3168; 9331",
    ),
    option(
        "accurate_ecn",
        Kind::Choice(&["auto", "on", "off"]),
        "auto",
        None,
        "every ACK reports the number of marked packets, instead of an echo until CWR; needs rack; auto: on for \
         prague, else off",
        "RFC 9768",
    ),
    option("syn", Kind::Flag, "on", None, "a SYN of the size of an ACK opens the connection", "RFC 9293"),
    with(
        option(
            "initial_window",
            Kind::Integer,
            "0",
            Some("2"),
            "initial window; 0: 4, 3 or 2 packets by their size; ledbat and ledbat++: 2 unless set",
            "RFC 5681, 3.1",
        ),
        "packets",
        COUNT,
    )
    .ns2_2001("1")
    .linux("10"),
    with(
        option(
            "receiver_window",
            Kind::Integer,
            "10000",
            None,
            "the receiver's window, and the initial ssthresh",
            "large enough not to limit",
        ),
        "packets",
        AT_LEAST_ONE,
    )
    .linux("2172"),
    option(
        "limited_transmit",
        Kind::Flag,
        "on",
        None,
        "the first two duplicate ACKs each send a new packet",
        "RFC 3042",
    )
    .ns2_2001("off"),
    option(
        "limited_retransmit",
        Kind::Flag,
        "off",
        Some("on"),
        "after a timeout limited transmit may send old packets too",
        "RFC 3042: new data only",
    ),
    with(
        option(
            "delayed_ack",
            Kind::Span,
            "0s",
            None,
            "longest delay of an ACK for every second packet; 0: every packet is acknowledged at once",
            "off as in the papers' simulations; RFC 5681, 4.2 allows 500 ms",
        ),
        "s",
        Range::NOT_NEGATIVE,
    )
    .linux("40ms"),
    with(
        option(
            "quick_acks",
            Kind::Integer,
            "0",
            None,
            "number of ACKs not delayed at the start and after a duplicate packet; two after a mark",
            "Linux; RFC 5681 has none",
        ),
        "",
        COUNT,
    )
    .linux("16"),
    with(
        option(
            "initial_rto",
            Kind::Span,
            "1s",
            Some("3s"),
            "timeout before the first sample",
            "RFC 6298, 2.1",
        ),
        "s",
        Range::POSITIVE,
    ),
    with(
        option("min_rto", Kind::Span, "1s", Some("200ms"), "minimum timeout before back-off", "RFC 6298, 2.4"),
        "s",
        Range::NOT_NEGATIVE,
    )
    .ns2_2004("1s")
    .ns2_2001("0s")
    .linux("200ms"),
    with(
        option("max_rto", Kind::Span, "60s", None, "maximum timeout", "RFC 6298, 2.5"),
        "s",
        Range::POSITIVE,
    )
    .linux("120s"),
    with(
        option(
            "granularity",
            Kind::Span,
            "1ms",
            Some("10ms"),
            "tick of the retransmission clock",
            "RFC 6298, 4",
        ),
        "s",
        Range::POSITIVE,
    )
    .ns2_2001("100ms")
    .linux("4ms"),
    option(
        "timer",
        Kind::Choice(Timer::WORDS),
        "rfc6298",
        Some("ticks"),
        "round-trip samples exact; counted in ticks with integer averages and a floor of two ticks; or \
         exact with min_rto as the floor of the deviation and timers that expire at ticks",
        "RFC 6298",
    )
    .linux("linux"),
    option(
        "halve",
        Kind::Choice(Halve::WORDS),
        "flight",
        Some("window"),
        "what a loss halves: FlightSize in whole packets, or the window unrounded",
        "RFC 5681, 3.2",
    )
    .linux("window"),
    option(
        "recovery_exit",
        Kind::Choice(Exit::WORDS),
        "deflate",
        Some("grow"),
        "after recovery: min(ssthresh, flight + 1), or the halved window grown by one more ACK",
        "RFC 6582, 3.2",
    ),
    with(
        option(
            "recovery_burst",
            Kind::Integer,
            "0",
            Some("2"),
            "maximum packets per ACK in NewReno's recovery; 0: no limit",
            "RFC 6582",
        ),
        "packets",
        COUNT,
    ),
    option(
        "repeat_fast_retransmit",
        Kind::Flag,
        "on",
        Some("off"),
        "Reno may fast retransmit again for another loss in the same window",
        "RFC 5681, 3.2",
    ),
    option(
        "scoreboard",
        Kind::Choice(Scoreboard::WORDS),
        "rfc6675",
        Some("sack1"),
        "SACK recovery: SetPipe and NextSeg, or ns-2's Sack1, which retransmits each hole once",
        "RFC 6675",
    ),
    option(
        "ect_on_retransmissions",
        Kind::Flag,
        "off",
        Some("on"),
        "retransmissions are ECN-capable too",
        "RFC 3168, 6.1.5",
    ),
    option(
        "marks",
        Kind::Choice(Marks::WORDS),
        "rfc3168",
        Some("ns2"),
        "one reduction per window of data, or as ns-2: again after a timeout, timeouts doubled while marks \
         continue at one packet, those after the reduction for a mark not counted",
        "RFC 3168, 6.1.2",
    ),
    with(
        option("sack_bytes", Kind::Integer, "8", None, "bytes that each SACK block adds to an ACK", "RFC 2018"),
        "B",
        COUNT,
    ),
    with(
        option(
            "overhead",
            Kind::Span,
            "0s",
            None,
            "maximum random delay before the window is used: breaks phase effects",
            "ns-2's overhead_, also off by default",
        ),
        "s",
        Range::NOT_NEGATIVE,
    ),
    with(
        option(
            "send_jitter",
            Kind::Span,
            "0s",
            None,
            "maximum random delay of each packet before the sender's link, in order: breaks phase effects on \
             the fast path; no effect if that link has a queue or impairment, or max_rate is set",
            "Floyd and Jacobson 1992, section 4: about one packet time of the bottleneck",
        ),
        "s",
        Range::NOT_NEGATIVE,
    ),
];

/// The options under a preset, with some of them set by name.
///
/// # Errors
/// An unknown preset or option, or a value that it cannot take.
pub fn resolve(conventions: &str, set: &[(String, String)]) -> Result<TcpOptions, SpecError> {
    let conventions = Conventions::find(conventions).ok_or_else(|| {
        let names = Conventions::ALL.map(Conventions::name);
        SpecError {
            key: "conventions".to_owned(),
            problem: format!("= {conventions:?} is not a preset"),
            allowed: names.join(", "),
            nearest: units::nearest(conventions, names.into_iter()),
        }
    })?;
    for (name, _) in set {
        if !OPTIONS.iter().any(|o| o.param.name == name) {
            let names = || OPTIONS.iter().map(|o| o.param.name);
            return Err(SpecError {
                key: format!("tcp.{name}"),
                problem: "is not an option of TCP".to_owned(),
                allowed: names().collect::<Vec<_>>().join(", "),
                nearest: units::nearest(name, names()),
            });
        }
    }
    let value = |name: &str| {
        let option = OPTIONS.iter().find(|o| o.param.name == name).expect("resolve asks for its own options");
        let word = set
            .iter()
            .rev()
            .find(|(n, _)| n == name)
            .map_or_else(|| option.under(conventions), |(_, word)| word.as_str());
        Value::parse(&option.param, word).map_err(|why| SpecError {
            key: format!("tcp.{name}"),
            problem: format!("= {word} {why}"),
            allowed: allowed(&option.param),
            nearest: None,
        })
    };
    let flag = |name| Ok(matches!(value(name)?, Value::Flag(true)));
    let count = |name| match value(name)? {
        Value::Integer(i) => Ok(i as u32),
        _ => Ok(0),
    };
    let span = |name| match value(name)? {
        Value::Span(span) => Ok(span),
        _ => Ok(Span::ZERO),
    };
    let wrong = |name: &str, problem: &str, allowed: &str| SpecError {
        key: format!("tcp.{name}"),
        problem: problem.to_owned(),
        allowed: allowed.to_owned(),
        nearest: None,
    };
    let word = |name| match value(name)? {
        Value::Choice(word) => Ok(word),
        _ => Ok(""),
    };
    let variant = Variant::named(word("variant")?);
    let is_set = |name: &str| set.iter().any(|(n, _)| n == name);
    // What a congestion control without recovery switches off.
    let of_recovery = |name: &'static str, off: &'static str| match word(name)? {
        word if !variant.goes_back() => Ok(word),
        word if is_set(name) && ![off, "auto"].contains(&word) => {
            Err(wrong(name, &format!("= {word}, but this congestion control has no recovery"), off))
        }
        _ => Ok(off),
    };
    let loss_detection = match LossDetection::named(of_recovery("loss_detection", "dupack")?) {
        LossDetection::Dupack if variant.needs_rack() && is_set("loss_detection") => {
            let problem = "= dupack, but this congestion control needs the time of every packet";
            return Err(wrong("loss_detection", problem, "rack"));
        }
        LossDetection::Dupack if variant.needs_rack() => LossDetection::Rack,
        other => other,
    };
    let pacing = match word("pacing")? {
        "off" if variant.paces() => {
            return Err(wrong("pacing", "= off, but this congestion control sets the rate", "auto or on"));
        }
        "auto" => variant.paces(),
        word => word == "on",
    };
    let recovery = Recovery::named(of_recovery("recovery", "window")?);
    let needs_sack =
        variant == Variant::Sack || loss_detection == LossDetection::Rack || recovery == Recovery::Prr;
    let sack = match of_recovery("sack", "off")? {
        "on" => true,
        "off" if needs_sack => {
            let problem = "= off, but variant sack, loss_detection rack and recovery prr need it";
            return Err(wrong("sack", problem, "auto or on"));
        }
        "off" => false,
        _ => needs_sack || variant.uses_sack(),
    };
    let cubic = CubicForm::named(word("cubic")?);
    let (has_rack, is_linux_cubic) =
        (loss_detection == LossDetection::Rack, variant == Variant::Cubic && cubic == CubicForm::Linux);
    let hystart = match word("hystart")? {
        "auto" if has_rack && is_linux_cubic => HyStartForm::Linux,
        "linux" if is_linux_cubic => HyStartForm::Linux,
        "linux" => {
            return Err(wrong(
                "hystart",
                "= linux, but it is a part of Linux's CUBIC",
                "auto, off or rfc9406",
            ));
        }
        "rfc9406" if !variant.has_slow_start() => {
            return Err(wrong(
                "hystart",
                "= rfc9406, but this congestion control does not use the slow start of RFC 5681",
                "auto or off",
            ));
        }
        "rfc9406" => HyStartForm::Rfc9406,
        _ => HyStartForm::Off,
    };
    if hystart != HyStartForm::Off && !has_rack {
        let problem = "needs loss_detection rack, which times every packet";
        return Err(wrong("hystart", problem, "auto or off"));
    }
    let accurate_ecn = match word("accurate_ecn")? {
        "off" if variant == Variant::Prague => {
            let problem = "= off, but this congestion control needs the number of marks";
            return Err(wrong("accurate_ecn", problem, "auto or on"));
        }
        "on" if !has_rack => {
            return Err(wrong("accurate_ecn", "= on needs loss_detection rack", "auto or off"));
        }
        "auto" => variant == Variant::Prague,
        word => word == "on",
    };
    let ecn = flag("ecn")? || variant == Variant::Prague && !is_set("ecn");
    let ect = match word("ect")? {
        "ect0" => Ect::Ect0,
        "ect1" => Ect::Ect1,
        _ => variant.ect(),
    };
    let options = TcpOptions {
        variant,
        cubic,
        dctcp: DctcpForm::named(word("dctcp")?),
        hystart,
        sack,
        loss_detection,
        recovery,
        byte_counting: flag("byte_counting")?,
        pacing,
        ect,
        accurate_ecn,
        ecn,
        syn: flag("syn")?,
        initial_window: if variant.begins_with_two() && !is_set("initial_window") {
            2
        } else {
            count("initial_window")?
        },
        receiver_window: count("receiver_window")?,
        limited_transmit: flag("limited_transmit")?,
        limited_retransmit: flag("limited_retransmit")?,
        delayed_ack: span("delayed_ack")?,
        quick_acks: count("quick_acks")?,
        initial_rto: span("initial_rto")?,
        min_rto: span("min_rto")?,
        max_rto: span("max_rto")?,
        granularity: span("granularity")?,
        timer: Timer::named(word("timer")?),
        halve: Halve::named(word("halve")?),
        recovery_exit: Exit::named(word("recovery_exit")?),
        recovery_burst: count("recovery_burst")?,
        repeat_fast_retransmit: flag("repeat_fast_retransmit")?,
        scoreboard: Scoreboard::named(word("scoreboard")?),
        ect_on_retransmissions: flag("ect_on_retransmissions")?,
        marks: Marks::named(word("marks")?),
        sack_bytes: count("sack_bytes")?,
        overhead: span("overhead")?,
        send_jitter: span("send_jitter")?,
    };
    if options.pacing && options.overhead > Span::ZERO {
        return Err(wrong("pacing", "= on, but overhead delays packets, too", "off, or overhead = \"0s\""));
    }
    if options.min_rto > options.max_rto {
        return Err(wrong("min_rto", "is above max_rto", "at most max_rto"));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_resolves() {
        for preset in Conventions::ALL.map(Conventions::name) {
            resolve(preset, &[]).unwrap();
        }
        assert_eq!(resolve("ns2-2001", &[]).unwrap().granularity, Span::from_millis(100));
        assert_eq!(resolve("ns2-2004", &[]).unwrap().min_rto, Span::from_millis(1000));
        assert_eq!(resolve("ns2", &[]).unwrap().min_rto, Span::from_millis(200));
    }

    #[test]
    fn what_is_set_wins_over_the_preset() {
        let set = [("min_rto".to_owned(), "2s".to_owned())];
        assert_eq!(resolve("ns2", &set).unwrap().min_rto, Span::from_millis(2000));
    }

    #[test]
    fn hystart_follows_the_congestion_control() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<_> =
                set.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
            resolve("linux", &set).map(|options| options.hystart).ok()
        };
        assert_eq!(with(&[]), Some(HyStartForm::Linux));
        for set in
            [("variant", "newreno"), ("loss_detection", "dupack"), ("cubic", "rfc9438"), ("hystart", "off")]
        {
            assert_eq!(with(&[set]), Some(HyStartForm::Off), "{set:?}");
        }
        assert_eq!(with(&[("variant", "newreno"), ("hystart", "rfc9406")]), Some(HyStartForm::Rfc9406));
        assert!(with(&[("variant", "newreno"), ("hystart", "linux")]).is_none());
        assert!(with(&[("loss_detection", "dupack"), ("hystart", "rfc9406")]).is_none());
        assert_eq!(resolve("rfc", &[]).unwrap().hystart, HyStartForm::Off);
    }

    /// Seen to fail: Prague without ECN when the queue does not mark.
    #[test]
    fn prague_has_ecn_and_its_accurate_feedback() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<_> =
                set.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
            resolve("rfc", &set)
        };
        let prague = ("variant", "prague");
        let options = with(&[prague]).unwrap();
        let TcpOptions { ecn, accurate_ecn, ect, pacing, loss_detection, .. } = options;
        assert_eq!((ecn, accurate_ecn, ect, pacing), (true, true, Ect::Ect1, true));
        assert_eq!(loss_detection, LossDetection::Rack);
        assert!(!with(&[prague, ("ecn", "off")]).unwrap().ecn);
        for set in [("accurate_ecn", "off"), ("pacing", "off"), ("loss_detection", "dupack")] {
            assert_eq!(with(&[prague, set]).unwrap_err().key, format!("tcp.{}", set.0));
        }
        assert_eq!(with(&[("accurate_ecn", "on")]).unwrap_err().key, "tcp.accurate_ecn");
        assert!(with(&[("accurate_ecn", "on"), ("loss_detection", "rack")]).unwrap().accurate_ecn);
        assert!(!with(&[]).unwrap().accurate_ecn);
    }

    /// Seen to fail: Linux's default of RACK for Tahoe.
    #[test]
    fn tahoe_has_no_recovery() {
        let with = |set: &[(&str, &str)]| {
            let set = [("variant", "tahoe")].iter().chain(set);
            let set: Vec<_> = set.map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
            resolve("linux", &set)
        };
        let options = with(&[("sack", "auto"), ("recovery", "window")]).unwrap();
        let TcpOptions { loss_detection, recovery, sack, .. } = options;
        assert_eq!((loss_detection, recovery, sack), (LossDetection::Dupack, Recovery::Window, false));
        for set in [("loss_detection", "rack"), ("recovery", "prr"), ("sack", "on")] {
            assert_eq!(with(&[set]).unwrap_err().key, format!("tcp.{}", set.0));
        }
    }

    #[test]
    fn a_wrong_option_is_named_with_its_neighbour() {
        let error = resolve("rfc", &[("min_rt".to_owned(), "2s".to_owned())]).unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("min_rto"));
        let error = resolve("ns3", &[]).unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("ns2"));
        assert!(resolve("rfc", &[("receiver_window".to_owned(), "0".to_owned())]).is_err());
        assert!(resolve("rfc", &[("min_rto".to_owned(), "61s".to_owned())]).is_err());
        let both = [("pacing", "on"), ("overhead", "1ms")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(resolve("rfc", &both).unwrap_err().key, "tcp.pacing");
    }
}
