//! Adaptive video: times that can be computed by hand, and what every record of a video satisfies.

use crate::support::{MBIT, MS, SECOND, dumbbell, options, plan, queue, run, tcp, traffic};
use sojourn_aqm::{Span, Time};
use sojourn_sim::{
    Plan, Record, SegmentColumns,
    plan::{Draw, Tcp, TrafficKind, Video},
};

/// Segments of 3 packets of 1000 bytes, 0.2 s each, with requests of 100 bytes on the wire; four of them fit
/// into the buffer.
fn three_packets() -> Video {
    let [segment, buffer, startup, cushion] = [200, 800, 400, 800].map(|ms| Span(ms * MS));
    Video {
        ladder: vec![115_200], // 2880 bytes in 0.2 s
        segment,
        buffer,
        startup,
        reservoir: Span::ZERO,
        cushion,
        request: 60,
        tcp: tcp(960, options("rfc", &[("syn", "off"), ("initial_window", "3")])),
    }
}

fn watch(video: Video, clients: u32, duration: u64) -> Plan {
    let video = traffic("video", clients, TrafficKind::Video(video));
    plan(dumbbell(queue("100p", "droptail")), vec![video], duration)
}

/// One-way delay across an idle dumbbell: 100, 10 and 100 Mbit/s, 5 + 15 + 5 ms.
fn crossing(bytes: u64) -> u64 {
    25 * MS + bytes * 8 * (10 + 100 + 10)
}

/// Transmission time on the bottleneck.
const PACKET: u64 = 1000 * 800;
/// Transmission times of an acknowledgement on an access link and on the bottleneck.
const ACK: u64 = 40 * 80;
const ACK_AT_BOTTLENECK: u64 = 40 * 800;
/// Transmission time of a request on an access link.
const REQUEST: u64 = 100 * 80;

/// From a request that meets no other packet to the last byte of its segment; the acknowledgement of the
/// request precedes the segment on the link of the server.
fn fetched() -> u64 {
    crossing(100) + ACK + crossing(1000) + 2 * PACKET
}

/// The same of a request that leaves with the acknowledgement of the segment before it: it waits for that at
/// the bottleneck.
fn fetched_next() -> u64 {
    fetched() + ACK + ACK_AT_BOTTLENECK - REQUEST
}

/// The first two segments are fetched one after the other, and playing begins with the second. The third and
/// the fourth follow at once. Then the buffer has 0.8 s less what was played meanwhile: the fifth is
/// requested when a segment has been played, and each further one 0.2 s after the one before it.
#[test]
fn segments_are_fetched_and_played_at_the_times_computed_by_hand() {
    let segments = run(&watch(three_packets(), 1, 2 * SECOND), 1).segments;
    let arrivals: Vec<u64> = (0..4).map(|i| fetched() + i * fetched_next()).collect();
    assert_eq!(segments.start_ns[..4], [0, arrivals[0], arrivals[1], arrivals[2]]);
    assert_eq!(segments.end_ns[..4], arrivals);
    let played: Vec<u64> = (0..9).map(|i| arrivals[1] + i * 200 * MS).collect();
    assert_eq!(segments.play_ns[..9], played);
    for i in 4..9 {
        let request = played[i - 3];
        assert_eq!((segments.start_ns[i], segments.end_ns[i]), (request, request + fetched()), "{i}");
    }
    assert!(segments.bytes.iter().all(|bytes| *bytes == 2880));
    assert_eq!((segments.traffic[0], segments.index[0], segments.bitrate_bps[0]), (0, 0, 115_200));
}

/// The SYN exchange comes before the first request only.
#[test]
fn connections_stay_open() {
    let tcp = tcp(960, options("rfc", &[("initial_window", "3")]));
    let segments = run(&watch(Video { tcp, ..three_packets() }, 1, 2 * SECOND), 1).segments;
    assert_eq!(segments.end_ns[0], 2 * crossing(40) + fetched());
    assert_eq!(segments.end_ns[4] - segments.start_ns[4], fetched());
}

/// Check the segments of a client of a traffic: one is fetched at a time and fits into the buffer, and they
/// are played behind one another after their arrival. Returns the number of stalls.
pub(crate) fn check_playing(
    segments: &SegmentColumns,
    (traffic, client): (u32, u32),
    video: &Video,
    end: u64,
) -> u64 {
    let is_own = |row: &usize| segments.traffic[*row] == traffic && segments.index[*row] == client;
    let rows: Vec<usize> = (0..segments.index.len()).filter(is_own).collect();
    let (mut played_until, mut stalls) = (None, 0);
    for (i, row) in rows.iter().enumerate() {
        let (start, arrival, play) = (segments.start_ns[*row], segments.end_ns[*row], segments.play_ns[*row]);
        assert!(start < arrival && arrival <= play, "{start} {arrival} {play}");
        if i > 0 {
            assert!(segments.end_ns[rows[i - 1]] <= start, "one segment at a time");
        }
        let later = rows[i..].iter().filter(|row| segments.start_ns[**row] <= play).count() as u64;
        assert!(play == u64::MAX || later * video.segment.0 <= video.buffer.0 + video.segment.0);
        if play == u64::MAX {
            continue;
        }
        match played_until {
            Some(until) if play > until => stalls += 1,
            Some(until) => assert_eq!(play, until, "segments play one behind the other"),
            None => {}
        }
        played_until = Some(play + video.segment.0);
        assert!(play < end);
    }
    stalls
}

/// 20 clients with a ladder that one link of 10 Mbit/s cannot carry for all.
#[test]
fn what_is_fetched_arrives_and_what_is_played_has_arrived() {
    let video = Video {
        ladder: vec![MBIT / 4, MBIT / 2, MBIT, 2 * MBIT],
        reservoir: Span(200 * MS),
        cushion: Span(600 * MS),
        tcp: tcp(960, options("linux", &[])),
        ..three_packets()
    };
    let mut plan = watch(video.clone(), 20, 30 * SECOND);
    plan.traffic[0].start = Draw::Uniform(0.0, SECOND as f64);
    plan.traffic.push(traffic("bulk", 4, TrafficKind::Tcp(video.tcp.clone())));
    let Record { segments, flows, .. } = run(&plan, 1);
    let mut stalls = 0;
    for client in 0..20 {
        stalls += check_playing(&segments, (0, client), &video, 30 * SECOND);
        let rows = (0..segments.index.len()).filter(|row| segments.index[*row] == client);
        let (done, asked) = rows.fold((0, 0), |(done, asked), row| {
            let bytes = segments.bytes[row];
            (done + bytes * u64::from(segments.end_ns[row] < u64::MAX), asked + bytes)
        });
        let goodput = flows.goodput_bytes[client as usize];
        assert!((done..=asked).contains(&goodput), "{done} {goodput} {asked}");
    }
    assert!(stalls > 20, "{stalls}");
    let bitrates: std::collections::BTreeSet<u64> = segments.bitrate_bps.iter().copied().collect();
    assert!(bitrates.len() > 2, "{bitrates:?}");
}

#[test]
fn the_bitrate_rises_while_the_buffer_fills() {
    let video = Video { ladder: vec![115_200, 2 * 115_200, 4 * 115_200], ..three_packets() };
    let segments = run(&watch(video, 1, 3 * SECOND), 1).segments;
    let bitrates: Vec<u64> = segments.bitrate_bps[..6].iter().map(|rate| rate / 115_200).collect();
    // With 0, 0.2, 0.4, and about 0.55, 0.69, 0.6 s in the buffer: f = 1, 1.75, 2.5, 3.06, 3.6, 3.25.
    assert_eq!(bitrates, [1, 1, 2, 2, 2, 2]);
    let bytes: Vec<u64> = segments.bytes[..3].to_vec();
    assert_eq!(bytes, [2880, 2880, 2 * 2880]);
}

/// A client that has stopped plays what it has.
#[test]
fn no_segment_is_requested_after_the_stop() {
    let mut plan = watch(three_packets(), 1, 3 * SECOND);
    plan.traffic[0].stop = Some(Time(SECOND));
    let segments = run(&plan, 1).segments;
    assert!(segments.start_ns.iter().all(|start| *start < SECOND) && segments.start_ns.len() > 4);
    assert!(segments.play_ns.iter().all(|play| *play < 2 * SECOND));
}

#[test]
fn a_player_that_cannot_play_is_refused() {
    let short = |set: fn(&mut Video)| {
        let mut video = three_packets();
        set(&mut video);
        sojourn_sim::Simulation::new(&watch(video, 1, SECOND), 1).err().map(|error| error.key)
    };
    let key = |name: &str| Some(format!("traffic.video.{name}"));
    assert_eq!(short(|_| {}), None);
    assert_eq!(short(|video| video.ladder.clear()), key("ladder"));
    assert_eq!(short(|video| video.ladder = vec![2, 1]), key("ladder"));
    assert_eq!(short(|video| video.segment = Span::ZERO), key("segment"));
    assert_eq!(short(|video| video.buffer = Span(100 * MS)), key("buffer"));
    assert_eq!(short(|video| video.startup = Span(801 * MS)), key("startup"));
    assert_eq!(short(|video| video.startup = Span::ZERO), key("startup"));
    assert_eq!(short(|video| video.cushion = Span::ZERO), key("cushion"));
    assert_eq!(short(|video| video.reservoir = Span(1)), key("reservoir"));
    assert_eq!(short(|video| video.request = 0), key("request"));
    let drawn = |tcp: Tcp| Tcp { payloads: Some(Draw::Uniform(500.0, 960.0)), ..tcp };
    let video = Video { tcp: drawn(three_packets().tcp), ..three_packets() };
    let refused = sojourn_sim::Simulation::new(&watch(video, 1, SECOND), 1).err().map(|error| error.key);
    assert_eq!(refused, key("payload"));
}
