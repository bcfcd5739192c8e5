//! What a gateway must know of an IP packet: where it goes, whose it is, what it carries; and how to mark it.
//!
//! A packet whose addresses can be read is forwarded, whatever the rest looks like: what a receiver makes of it is
//! the receiver's business. Only what cannot be routed is [`Malformed`].

use crate::checksum;
use sojourn_aqm::Ecn;

/// Numbers of protocols and of IPv6 extension headers (IANA).
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

/// Extension headers that are looked at; more are somebody's game.
const MOST_EXTENSIONS: usize = 16;
const IPV4_HEADER: usize = 20;
pub(crate) const IPV6_HEADER: usize = 40;

/// Why nobody can say where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its IP header.
    Short,
    /// Neither IPv4 nor IPv6.
    NotIp,
    /// Its own lengths contradict each other or the number of bytes that came.
    Length,
    /// The kernel's description of a super-packet does not fit it.
    Offload,
}

/// A piece of a larger packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The number that all pieces share.
    pub id: u32,
    /// It is the first piece, the only one with the transport's header.
    pub is_first: bool,
}

/// A TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number of the first payload byte, or of SYN.
    pub sequence: u32,
    /// Its flags, CWR in the highest bit.
    pub flags: u8,
    /// Bytes of header.
    pub header: usize,
}

/// What was read of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source; an IPv4 address stands behind `::ffff:`.
    pub source: u128,
    /// Destination.
    pub destination: u128,
    /// Protocol of what is carried, behind every extension header.
    pub protocol: u8,
    /// Source and destination port of TCP and UDP, else zeros.
    pub ports: (u16, u16),
    /// Whether it is a piece of a packet.
    pub fragment: Option<Fragment>,
    /// DiffServ code point.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// Where the transport's header starts.
    pub transport: usize,
    /// Length that the IP header tells.
    pub length: usize,
    /// Bytes behind the transport's header.
    pub payload: usize,
    /// The TCP header, if there is one that can be read.
    pub tcp: Option<Tcp>,
    /// The transport's header could not be read: the packet is forwarded all the same.
    pub is_odd: bool,
}

impl Header {
    /// Whether it is IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.source >> 32 != MAPPED
    }
}

/// `::ffff:0:0`, without its last 32 bits.
const MAPPED: u128 = 0xffff;

/// An IPv4 address as an IPv6 one.
pub(crate) fn mapped(address: [u8; 4]) -> u128 {
    MAPPED << 32 | u128::from(u32::from_be_bytes(address))
}

/// Read the headers of a packet.
///
/// # Errors
/// What cannot be routed.
pub fn parse(packet: &[u8]) -> Result<Header, Malformed> {
    match packet.first().map(|byte| byte >> 4) {
        None => Err(Malformed::Short),
        Some(4) => parse_v4(packet),
        Some(6) => parse_v6(packet),
        Some(_) => Err(Malformed::NotIp),
    }
}

fn parse_v4(packet: &[u8]) -> Result<Header, Malformed> {
    let fixed: &[u8; IPV4_HEADER] = packet.first_chunk().ok_or(Malformed::Short)?;
    let transport = usize::from(fixed[0] & 15) * 4;
    let length = usize::from(word(fixed, 2));
    if transport < IPV4_HEADER || length < transport || length > packet.len() {
        return Err(Malformed::Length);
    }
    let (id, place) = (word(fixed, 4), word(fixed, 6));
    let is_piece = place & 0x3fff != 0; // more fragments, or an offset
    let header = Header {
        source: mapped([fixed[12], fixed[13], fixed[14], fixed[15]]),
        destination: mapped([fixed[16], fixed[17], fixed[18], fixed[19]]),
        protocol: fixed[9],
        ports: (0, 0),
        fragment: is_piece.then_some(Fragment { id: u32::from(id), is_first: place & 0x1fff == 0 }),
        dscp: fixed[1] >> 2,
        ecn: ecn(fixed[1]),
        transport,
        length,
        payload: 0,
        tcp: None,
        is_odd: false,
    };
    Ok(with_transport(header, packet))
}

fn parse_v6(packet: &[u8]) -> Result<Header, Malformed> {
    let fixed: &[u8; IPV6_HEADER] = packet.first_chunk().ok_or(Malformed::Short)?;
    let told = usize::from(word(fixed, 4));
    // A payload of length 0 is a jumbogram (RFC 2675), whose length is an option; what came is what it is.
    let length = if told == 0 { packet.len() } else { IPV6_HEADER + told };
    if length > packet.len() {
        return Err(Malformed::Length);
    }
    let class = fixed[0] << 4 | fixed[1] >> 4;
    let address = |at: usize| fixed[at..at + 16].iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
    let mut header = Header {
        source: address(8),
        destination: address(24),
        protocol: fixed[6],
        ports: (0, 0),
        fragment: None,
        dscp: class >> 2,
        ecn: ecn(class),
        transport: IPV6_HEADER,
        length,
        payload: 0,
        tcp: None,
        is_odd: false,
    };
    header.is_odd = !skip_extensions(&mut header, packet);
    Ok(with_transport(header, packet))
}

/// Walk to the transport's header; whether it was reached.
fn skip_extensions(header: &mut Header, packet: &[u8]) -> bool {
    for _ in 0..MOST_EXTENSIONS {
        let at = header.transport;
        let is_extension = matches!(
            header.protocol,
            HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION | MOBILITY | HIP | SHIM6
        );
        if !is_extension {
            return true;
        }
        let Some([next, size]) = packet[..header.length].get(at..at + 2) else { return false };
        let size = usize::from(*size);
        let length = match header.protocol {
            FRAGMENT => 8,
            AUTHENTICATION => (size + 2) * 4,
            _ => (size + 1) * 8,
        };
        if at + length > header.length {
            return false;
        }
        if header.protocol == FRAGMENT {
            let place = word(packet, at + 2);
            let id = u32::from(word(packet, at + 4)) << 16 | u32::from(word(packet, at + 6));
            if place & 0xfff9 != 0 {
                // Not an atomic fragment (RFC 6946), which is a whole packet.
                header.fragment = Some(Fragment { id, is_first: place & 0xfff8 == 0 });
            }
        }
        header.protocol = *next;
        header.transport += length;
        if header.fragment.is_some_and(|piece| !piece.is_first) {
            return true; // what follows is the middle of something
        }
    }
    false
}

/// Read ports, TCP's sequence number and how much is carried.
fn with_transport(mut header: Header, packet: &[u8]) -> Header {
    let body = &packet[header.transport.min(header.length)..header.length];
    header.payload = body.len();
    if header.is_odd || header.fragment.is_some_and(|piece| !piece.is_first) {
        return header;
    }
    match header.protocol {
        TCP => match body.first_chunk::<20>() {
            Some(fixed) if (20..=body.len()).contains(&(usize::from(fixed[12] >> 4) * 4)) => {
                let length = usize::from(fixed[12] >> 4) * 4;
                let sequence = u32::from(word(fixed, 4)) << 16 | u32::from(word(fixed, 6));
                header.ports = (word(fixed, 0), word(fixed, 2));
                header.payload -= length;
                header.tcp = Some(Tcp { sequence, flags: fixed[13], header: length });
            }
            _ => header.is_odd = true,
        },
        UDP => match body.first_chunk::<8>() {
            Some(fixed) => {
                header.ports = (word(fixed, 0), word(fixed, 2));
                header.payload -= 8;
            }
            None => header.is_odd = true,
        },
        _ => {}
    }
    header
}

/// Set "congestion experienced" in the IP header, and mend its checksum.
pub fn mark(packet: &mut [u8]) {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= IPV4_HEADER => {
            let old = word(packet, 0);
            packet[1] |= 3;
            let sum = checksum::mend(word(packet, 10), old, word(packet, 0));
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some(6) if packet.len() >= IPV6_HEADER => packet[1] |= 0x30,
        _ => {}
    }
}

fn ecn(class: u8) -> Ecn {
    match class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// The 16 bits at `at`.
pub(crate) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
