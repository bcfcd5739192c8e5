//! The parser of IP headers: any bytes are parsed or refused, never a panic.

use crate::support::{A4, agree, checksum, ipv4, ipv6, plain, same, six, tcp, udp};
use proptest::prelude::*;
use sojourn_aqm::Ecn;
use sojourn_gateway::{Header, Malformed, Ports, mark, parse, split};

fn mapped(address: [u8; 4]) -> u128 {
    u128::from(std::net::Ipv4Addr::from(address).to_ipv6_mapped())
}

fn ports(source: u16, destination: u16) -> Ports {
    Ports { source, destination }
}

#[test]
fn ports_sequence_class_and_payload_of_tcp() {
    let header = parse(&ipv4(0b1011_1010, 7, 0x4000, 6, &tcp(40_000, 80, 123, 0x18, &[1; 100]))).unwrap();
    assert_eq!((header.source, header.protocol, header.ports), (mapped(A4), 6, ports(40_000, 80)));
    assert_eq!((header.dscp, header.ecn), (0b10_1110, Ecn::Ect0));
    assert_eq!((header.length, header.payload, header.transport), (152, 100, 20));
    assert_eq!(header.tcp.map(|tcp| (tcp.sequence, tcp.flags, tcp.header)), Some((123, 0x18, 32)));
    assert!(header.fragment.is_none() && !header.is_odd && !header.is_ipv6());
}

#[test]
fn every_extension_header_of_ipv6_is_walked() {
    // hop-by-hop 8, destination 16, routing 24, authentication 12, mobility 8, then UDP.
    let extension = |next: u8, size: u8, length: usize| {
        let mut bytes = vec![next, size];
        bytes.resize(length, 0);
        bytes
    };
    let body = [
        extension(60, 0, 8),
        extension(43, 1, 16),
        extension(51, 2, 24),
        extension(135, 1, 12),
        extension(17, 0, 8),
        udp(5, 6, 30),
    ]
    .concat();
    let header = parse(&ipv6(0b11, 0, &body)).unwrap();
    assert_eq!((header.protocol, header.ports, header.payload), (17, ports(5, 6), 30));
    assert_eq!((header.transport, header.ecn, header.is_ipv6()), (40 + 68, Ecn::Ce, true));
    assert_eq!(
        (header.source, header.destination),
        (u128::from_be_bytes(six(1)), u128::from_be_bytes(six(2)))
    );
}

#[test]
fn an_incomplete_chain_of_extensions_is_odd_but_forwarded() {
    let long = [[60, 0, 0, 0, 0, 0, 0, 0]; 40].concat();
    for body in [&long[..], &[60, 200, 0, 0, 0, 0, 0, 0], &[60], &[]] {
        let header = parse(&ipv6(0, 60, body)).unwrap();
        assert!(header.is_odd && header.ports == ports(0, 0), "{body:?}");
    }
}

#[test]
fn only_the_first_fragment_has_ports() {
    let body = udp(7, 8, 100);
    let first = parse(&ipv4(0, 77, 0x2000, 17, &body)).unwrap();
    assert_eq!((first.fragment.map(|f| (f.id, f.is_first)), first.ports), (Some((77, true)), ports(7, 8)));
    let later = parse(&ipv4(0, 77, 0x0004, 17, &body)).unwrap();
    assert_eq!((later.fragment.map(|f| (f.id, f.is_first)), later.ports), (Some((77, false)), ports(0, 0)));
    let fragment = |offset: u16| {
        let head = [&[17, 0][..], &offset.to_be_bytes(), &[0, 1, 0, 2]].concat();
        parse(&ipv6(0, 44, &[head, body.clone()].concat())).unwrap()
    };
    let six = |header: Header| (header.fragment.map(|f| (f.id, f.is_first)), header.ports);
    assert_eq!(six(fragment(1)), (Some((0x1_0002, true)), ports(7, 8)));
    assert_eq!(six(fragment(8)), (Some((0x1_0002, false)), ports(0, 0)));
    assert_eq!(six(fragment(0)), (None, ports(7, 8)), "an atomic fragment is a whole packet (RFC 6946)");
}

#[test]
fn jumbo_frames_and_jumbograms_are_packets() {
    let jumbo = parse(&ipv4(0, 0, 0, 17, &udp(1, 2, 8_950))).unwrap();
    assert_eq!((jumbo.length, jumbo.payload), (8_978, 8_950));
    let option = [17, 0, 0xc2, 4, 0, 1, 0x11, 0x80];
    let mut body = [&option[..], &udp(1, 2, 0)].concat();
    body.resize(70_000, 0);
    let mut gram = ipv6(0, 0, &body);
    gram[4..6].fill(0); // the length is in the option (RFC 2675, section 2)
    assert_eq!(parse(&gram).map(|h| (h.length, h.ports)), Ok((70_040, ports(1, 2))));
}

#[test]
fn a_packet_that_cannot_be_routed_is_refused_with_the_reason() {
    let good = ipv4(0, 0, 0, 17, &udp(1, 2, 10));
    assert_eq!(parse(&[]), Err(Malformed::Short));
    assert_eq!(parse(&good[..19]), Err(Malformed::Short));
    assert_eq!(parse(&good[..30]), Err(Malformed::Length));
    assert_eq!(parse(&ipv6(0, 17, &udp(1, 2, 3))[..39]), Err(Malformed::Short));
    assert_eq!(parse(&ipv6(0, 17, &udp(1, 2, 3))[..45]), Err(Malformed::Length));
    assert_eq!(parse(&[0x75; 60]), Err(Malformed::NotIp));
    for (at, value) in [(0, 0x44), (3, 10)] {
        let mut bad = good.clone();
        bad[at] = value;
        assert_eq!(parse(&bad), Err(Malformed::Length), "byte {at}");
    }
}

#[test]
fn truncated_transport_headers_are_odd() {
    let whole = tcp(1, 2, 3, 0, &[]);
    for length in 0..whole.len() {
        assert!(parse(&ipv4(0, 0, 0, 6, &whole[..length])).unwrap().is_odd, "{length}");
    }
    let mut short = whole.clone();
    short[12] = 0x40; // a header of 16 bytes
    assert!(parse(&ipv4(0, 0, 0, 6, &short)).unwrap().is_odd);
    assert!(parse(&ipv4(0, 0, 0, 17, &[0; 7])).unwrap().is_odd);
}

proptest! {
    #![proptest_config(same())]

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(header) = parse(&bytes) {
            prop_assert!(header.length <= bytes.len());
            prop_assert!(header.transport <= header.length || header.is_odd);
            prop_assert!(header.payload <= header.length);
        }
        let mut marked = bytes.clone();
        mark(&mut marked);
        let _ = split(&bytes, |_, _, head, body| assert!(head.len() + body.len() <= bytes.len()));
    }

    /// Valid packets with some bytes changed reach more of the parser than random bytes.
    #[test]
    fn damaged_packets_are_parsed_or_refused(
        kind in 0usize..6,
        changes in prop::collection::vec((0usize..120, any::<u8>()), 0..6),
        cut in 0usize..200,
        fits in any::<bool>(),
    ) {
        let extension = [&[44, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 1, 0, 0, 0, 9][..], &tcp(1, 2, 3, 4, &[5; 9])].concat();
        let mut packet = match kind {
            0 => ipv4(0, 1, 0, 6, &tcp(1, 2, 3, 4, &[5; 60])),
            1 => ipv4(3, 1, 0x2000, 17, &udp(1, 2, 60)),
            2 => ipv6(1, 6, &tcp(1, 2, 3, 4, &[5; 60])),
            3 => ipv6(1, 60, &extension),
            4 => ipv6(1, 51, &[17; 60]),
            _ => ipv4(1, 1, 0x3fff, 6, &[1; 60]),
        };
        for (at, value) in changes {
            if let Some(byte) = packet.get_mut(at) {
                *byte = value;
            }
        }
        packet.truncate(cut.max(1));
        if fits && packet.len() > 40 {
            // Its length field is right, so that the headers inside are parsed.
            let (at, length) = if packet[0] >> 4 == 6 { (4, packet.len() - 40) } else { (2, packet.len()) };
            packet[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
        }
        if let Ok(header) = parse(&packet) {
            prop_assert!(header.length <= packet.len() && header.payload <= header.length);
        }
        let _ = split(&plain(&packet), |_, _, head, body| assert_eq!(head.len() + body.len(), packet.len()));
    }

    /// Only the ECN bits change, and the checksum is that of the new header.
    #[test]
    fn a_mark_updates_the_checksum(
        class in any::<u8>(), id in any::<u16>(), offset in any::<u16>(), length in 0usize..1400
    ) {
        let before = ipv4(class, id, offset, 17, &vec![3; length]);
        let mut after = before.clone();
        mark(&mut after);
        prop_assert_eq!(after[1], class | 3);
        let stored = u16::from_be_bytes([after[10], after[11]]);
        let mut bare = after[..20].to_vec();
        bare[10..12].fill(0);
        prop_assert!(agree(stored, checksum(&[&bare])), "{stored:#x}");
        after[1] = class;
        after[10..12].copy_from_slice(&before[10..12]);
        prop_assert_eq!(after, before);
    }

    #[test]
    fn a_mark_of_ipv6_changes_two_bits(class in any::<u8>(), next in any::<u8>()) {
        let before = ipv6(class, next, &[9; 50]);
        let mut after = before.clone();
        mark(&mut after);
        prop_assert_eq!(parse(&after).map(|h| (h.ecn, h.dscp)), Ok((Ecn::Ce, class >> 2)));
        after[1] = before[1];
        prop_assert_eq!(after, before);
    }
}
