//! IP headers: parsing the fields that the gateway uses, and setting CE.
//!
//! A packet with readable addresses is forwarded even if the rest is invalid, as by a router. Only packets
//! that cannot be routed are [`Malformed`].

use crate::checksum;
use sojourn_aqm::Ecn;

/// Numbers of protocols and of IPv6 extension headers (IANA).
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

/// Extension headers that are parsed; a longer chain is treated as invalid.
const MAX_EXTENSIONS: usize = 16;
const IPV4_HEADER: usize = 20;
pub(crate) const IPV6_HEADER: usize = 40;

/// The reason why a packet cannot be routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its IP header.
    Short,
    /// Neither IPv4 nor IPv6.
    NotIp,
    /// Its length fields are inconsistent, with each other or with the number of bytes read.
    Length,
    /// The kernel's description of a super-packet does not fit it.
    Offload,
}

/// A fragment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The identification that all fragments share.
    pub id: u32,
    /// Whether it is the first fragment, the only one with the transport header.
    pub is_first: bool,
}

/// A TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number of the first payload byte, or of SYN.
    pub sequence: u32,
    /// Its flags, with CWR as the highest bit.
    pub flags: u8,
    /// Header length in bytes.
    pub header: usize,
}

/// The ports of TCP and UDP; zeros for other protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
}

/// The parsed headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source; IPv4 addresses are mapped to `::ffff:0:0/96`.
    pub source: u128,
    /// Destination.
    pub destination: u128,
    /// Protocol of the payload, after all extension headers.
    pub protocol: u8,
    /// Ports of TCP and UDP.
    pub ports: Ports,
    /// Set if it is a fragment.
    pub fragment: Option<Fragment>,
    /// DiffServ code point.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// Offset of the transport header.
    pub transport: usize,
    /// Length according to the IP header.
    pub length: usize,
    /// Bytes after the transport header.
    pub payload: usize,
    /// The TCP header, if it is valid.
    pub tcp: Option<Tcp>,
    /// Whether the transport header is invalid; the packet is still forwarded.
    pub is_odd: bool,
}

impl Header {
    /// Whether it is IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.source >> 32 != MAPPED
    }
}

/// The first 96 bits of `::ffff:0:0/96`.
const MAPPED: u128 = 0xffff;

/// An IPv4 address as an IPv4-mapped IPv6 address.
pub(crate) fn mapped(address: [u8; 4]) -> u128 {
    MAPPED << 32 | u128::from(u32::from_be_bytes(address))
}

/// Parse the headers of a packet.
///
/// # Errors
/// A packet that cannot be routed.
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
    let (id, offset) = (word(fixed, 4), word(fixed, 6));
    let is_fragment = offset & 0x3fff != 0; // MF, or an offset
    let header = Header {
        source: mapped([fixed[12], fixed[13], fixed[14], fixed[15]]),
        destination: mapped([fixed[16], fixed[17], fixed[18], fixed[19]]),
        protocol: fixed[9],
        ports: Ports::default(),
        fragment: is_fragment.then_some(Fragment { id: u32::from(id), is_first: offset & 0x1fff == 0 }),
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
    let payload = usize::from(word(fixed, 4));
    // A payload length of 0 means a jumbogram (RFC 2675, section 2), whose length is in an option: the number
    // of bytes read is used.
    let length = if payload == 0 { packet.len() } else { IPV6_HEADER + payload };
    if length > packet.len() {
        return Err(Malformed::Length);
    }
    let class = fixed[0] << 4 | fixed[1] >> 4;
    let address = |at: usize| fixed[at..at + 16].iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
    let mut header = Header {
        source: address(8),
        destination: address(24),
        protocol: fixed[6],
        ports: Ports::default(),
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

/// Find the transport header; returns whether it was found.
fn skip_extensions(header: &mut Header, packet: &[u8]) -> bool {
    for _ in 0..MAX_EXTENSIONS {
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
            let offset = word(packet, at + 2);
            let id = u32::from(word(packet, at + 4)) << 16 | u32::from(word(packet, at + 6));
            if offset & 0xfff9 != 0 {
                // An atomic fragment (RFC 6946) is a whole packet.
                header.fragment = Some(Fragment { id, is_first: offset & 0xfff8 == 0 });
            }
        }
        header.protocol = *next;
        header.transport += length;
        if header.fragment.is_some_and(|fragment| !fragment.is_first) {
            return true; // the rest is payload
        }
    }
    false
}

/// Parse the transport header.
fn with_transport(mut header: Header, packet: &[u8]) -> Header {
    let body = &packet[header.transport.min(header.length)..header.length];
    header.payload = body.len();
    if header.is_odd || header.fragment.is_some_and(|fragment| !fragment.is_first) {
        return header;
    }
    match header.protocol {
        TCP => match body.first_chunk::<20>() {
            Some(fixed) if (20..=body.len()).contains(&(usize::from(fixed[12] >> 4) * 4)) => {
                let length = usize::from(fixed[12] >> 4) * 4;
                let sequence = u32::from(word(fixed, 4)) << 16 | u32::from(word(fixed, 6));
                header.ports = Ports { source: word(fixed, 0), destination: word(fixed, 2) };
                header.payload -= length;
                header.tcp = Some(Tcp { sequence, flags: fixed[13], header: length });
            }
            _ => header.is_odd = true,
        },
        UDP => match body.first_chunk::<8>() {
            Some(fixed) => {
                header.ports = Ports { source: word(fixed, 0), destination: word(fixed, 2) };
                header.payload -= 8;
            }
            None => header.is_odd = true,
        },
        _ => {}
    }
    header
}

/// Set CE in the IP header, and update its checksum.
pub fn mark(packet: &mut [u8]) {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= IPV4_HEADER => {
            let old = word(packet, 0);
            packet[1] |= 3;
            let sum = checksum::update(word(packet, 10), old, word(packet, 0));
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
