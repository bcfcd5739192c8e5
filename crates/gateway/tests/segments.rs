//! Segmentation: the segments of a super-packet are valid packets that carry the same byte stream.

use crate::support::{agree, checksum, ipv4, ipv6, plain, same, tcp};
use proptest::prelude::*;
use sojourn_gateway::{Malformed, Offload, parse, split};

const CWR: u8 = 0x80;
const PUSH: u8 = 8;
const FIN: u8 = 1;

fn super_packet(is_six: bool, sequence: u32, flags: u8, payload: &[u8], size: u16) -> Vec<u8> {
    let body = tcp(4000, 80, sequence, flags, payload);
    let (packet, kind) = if is_six { (ipv6(2, 6, &body), 4) } else { (ipv4(2, 65_530, 0x4000, 6, &body), 1) };
    let offload = Offload { flags: 1, kind: kind | 0x80, segment: size, sum_start: 40, ..Offload::default() };
    [&offload.bytes(), &packet[..]].concat()
}

fn segments(bytes: &[u8]) -> Result<Vec<(Offload, Vec<u8>)>, Malformed> {
    let mut packets = Vec::new();
    split(bytes, |header, offload, head, body| {
        let packet = [head, body].concat();
        assert_eq!(parse(&packet).as_ref(), Ok(header), "the header is that of the packet");
        packets.push((offload, packet));
    })?;
    Ok(packets)
}

/// Complete a partial checksum, as a network card does.
fn finish(offload: Offload, packet: &mut [u8]) {
    assert_eq!(offload.flags, 1);
    let (start, at) = (usize::from(offload.sum_start), usize::from(offload.sum_start + offload.sum_offset));
    let sum = checksum(&[&packet[start..]]);
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Whether the TCP checksum is correct, including the pseudo-header.
fn is_correct(packet: &[u8]) -> bool {
    let header = parse(packet).unwrap();
    let body = &packet[header.transport..];
    let addresses = if header.is_ipv6() { &packet[8..40] } else { &packet[12..20] };
    let tail = [0, 6, (body.len() >> 8) as u8, body.len() as u8];
    agree(checksum(&[addresses, &tail, body]), 0)
}

proptest! {
    #![proptest_config(same())]

    #[test]
    fn segments_carry_the_same_stream(
        is_six in any::<bool>(),
        sequence in any::<u32>(),
        flags in any::<u8>(),
        length in 0usize..20_000,
        size in 1u16..3_000,
    ) {
        let size = size.max((length / 500) as u16);
        let payload: Vec<u8> = (0..length).map(|i| (i * 7 % 251) as u8).collect();
        let packets = segments(&super_packet(is_six, sequence, flags, &payload, size)).unwrap();
        let last = packets.len() - 1;
        let mut stream: Vec<u8> = Vec::new();
        for (i, (offload, mut packet)) in packets.into_iter().enumerate() {
            let header = parse(&packet).unwrap();
            let tcp = header.tcp.unwrap();
            prop_assert_eq!(tcp.sequence, sequence.wrapping_add(stream.len() as u32));
            prop_assert_eq!(header.length, packet.len());
            prop_assert!(header.payload == usize::from(size) || i == last);
            let first_only = if i == 0 { 0 } else { CWR };
            let last_only = if i == last { 0 } else { PUSH | FIN };
            prop_assert_eq!(tcp.flags, flags & !first_only & !last_only);
            if !is_six {
                prop_assert!(agree(checksum(&[&packet[..20]]), 0), "the checksum of the IP header");
                let id = u16::from_be_bytes([packet[4], packet[5]]);
                prop_assert_eq!(id, 65_530u16.wrapping_add(i as u16));
            }
            finish(offload, &mut packet);
            prop_assert!(is_correct(&packet));
            stream.extend(&packet[header.length - header.payload..]);
        }
        prop_assert_eq!(stream, payload);
    }
}

#[test]
fn a_plain_packet_passes_unchanged() {
    let packet = ipv4(1, 5, 0, 6, &tcp(1, 2, 3, FIN, b"hello"));
    assert_eq!(segments(&plain(&packet)), Ok(vec![(Offload::default(), packet.clone())]));
    let partial = Offload { flags: 1, sum_start: 20, sum_offset: 16, headers: 52, ..Offload::default() };
    let kept = Offload { headers: 0, ..partial };
    assert_eq!(segments(&[&partial.bytes(), &packet[..]].concat()), Ok(vec![(kept, packet)]));
}

#[test]
fn an_invalid_super_packet_is_refused_as_a_whole() {
    let good = super_packet(false, 1, 0, &[1; 5000], 1000);
    let with = |change: fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        segments(&bytes)
    };
    assert_eq!(with(|b| b[4..6].fill(0)), Err(Malformed::Offload), "empty segments");
    assert_eq!(
        with(|b| b[4..6].copy_from_slice(&1u16.to_ne_bytes())),
        Err(Malformed::Offload),
        "5000 segments"
    );
    assert_eq!(with(|b| b[1] = 4), Err(Malformed::Offload), "marked as IPv6");
    assert_eq!(with(|b| b[1] = 3), Err(Malformed::Offload), "marked as UDP");
    assert_eq!(with(|b| b[10 + 9] = 17), Err(Malformed::Offload), "not TCP");
    assert_eq!(with(|b| b[10 + 6] = 0x20), Err(Malformed::Offload), "a fragment");
    assert_eq!(with(|b| b.truncate(9)), Err(Malformed::Short));
    let beyond = Offload { flags: 1, sum_start: 60_000, ..Offload::default() };
    assert_eq!(segments(&[&beyond.bytes(), &good[10..]].concat()), Err(Malformed::Offload));
}
