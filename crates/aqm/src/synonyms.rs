//! Words of other tools and of everyday language, and their names here: for "did you mean" in messages.
//!
//! They are not accepted in place of the names. The word for an algorithm or a sender that is missing here
//! maps to the closest one.

/// A word in lower case, and the names that it may mean, the most likely first.
const SYNONYMS: &[(&str, &[&str])] = &[
    // Queue disciplines of tc and of routers.
    ("fifo", &["droptail"]),
    ("pfifo", &["droptail"]),
    ("bfifo", &["droptail"]),
    ("pfifo_fast", &["droptail", "prio"]),
    ("tail", &["droptail"]),
    ("wfq", &["fq", "sfq", "drr"]),
    ("l4s", &["dualpi2", "prague"]),
    ("dualq", &["dualpi2"]),
    ("wred", &["rio"]),
    ("tbf", &["token_bucket"]),
    ("policer", &["token_bucket"]),
    // Parameters of tc's RED and others.
    ("min", &["min_th"]),
    ("max", &["max_th"]),
    ("probability", &["max_p"]),
    ("weight", &["w_q", "quantum", "weights"]),
    ("avpkt", &["mean_packet"]),
    ("tupdate", &["t_update"]),
    ("burst", &["max_burst", "cbs"]),
    ("target_delay", &["target"]),
    // Congestion control.
    ("bbr1", &["bbr"]),
    ("bbr2", &["bbr"]),
    ("bbr3", &["bbr"]),
    ("accecn", &["accurate_ecn"]),
    ("tahoe", &["reno"]),
    // Keys of scenarios.
    ("bottleneck", &["dumbbell"]),
    ("links", &["link"]),
    ("flow", &["traffic", "count"]),
    ("flows", &["count", "traffic"]),
    ("connections", &["count"]),
    ("sources", &["count"]),
    ("number", &["count"]),
    ("n", &["count"]),
    ("bandwidth", &["rate"]),
    ("bw", &["rate"]),
    ("capacity", &["capacity", "rate"]),
    ("speed", &["rate"]),
    ("upload", &["reverse_rate"]),
    ("latency", &["delay", "mean_delay_s"]),
    ("rtt", &["rtt", "delay"]),
    ("time", &["duration"]),
    ("simtime", &["duration"]),
    ("runtime", &["duration"]),
    ("end", &["stop", "duration"]),
    ("begin", &["start"]),
    ("buffer", &["limit", "queue"]),
    ("size", &["limit"]),
    ("length", &["limit", "duration"]),
    ("maxlen", &["limit"]),
    ("mss", &["payload"]),
    ("packet_size", &["size", "payload"]),
    ("packetsize", &["size", "payload"]),
    ("qdisc", &["aqm"]),
    ("discipline", &["aqm"]),
    ("algorithm", &["aqm"]),
    ("algo", &["aqm"]),
    ("cc", &["variant"]),
    ("congestion", &["variant"]),
    ("congestion_control", &["variant"]),
    ("type", &["kind"]),
    ("protocol", &["kind"]),
    // Kinds of traffic.
    ("udp", &["udp-cbr", "udp-onoff"]),
    ("cbr", &["udp-cbr"]),
    ("onoff", &["udp-onoff", "tcp-onoff"]),
    ("poisson", &["tcp-short"]),
    ("ftp", &["tcp"]),
    ("bulk", &["tcp"]),
    ("download", &["tcp"]),
    ("voip", &["call"]),
    ("ping", &["probe"]),
    ("http", &["web"]),
    ("dash", &["video"]),
    ("streaming", &["video"]),
    // Metrics.
    ("delay", &["delay", "mean_delay_s"]),
    ("sojourn", &["mean_delay_s"]),
    ("throughput", &["throughput_bps"]),
    ("goodput", &["goodput_bps"]),
    ("jain", &["jain_index"]),
    ("fairness", &["jain_index"]),
    ("loss", &["drop_ratio"]),
    ("losses", &["drop_ratio", "drops"]),
    ("loss_rate", &["drop_ratio"]),
    ("queue_length", &["mean_queue_packets"]),
    ("fct", &["completion_time_mean_s"]),
    ("plt", &["page_time_mean_s"]),
];

/// The candidate that `word` is another name of.
pub(crate) fn synonym<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_ascii_lowercase();
    let (_, names) = SYNONYMS.iter().find(|(known, _)| *known == lower)?;
    names.iter().find_map(|name| candidates.iter().find(|one| *one == name).copied())
}
