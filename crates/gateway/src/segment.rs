//! TCP segmentation offload: the kernel passes TCP super-packets of up to 64 kB with partial checksums, which
//! are split here into packets as a network card would send them.
//!
//! A TUN device with `IFF_VNET_HDR` puts ten bytes (`struct virtio_net_hdr`) in front of each packet.
//! Checksums stay partial: the receiving kernel trusts them, and completes them if the packet leaves the
//! machine.

use crate::{
    checksum,
    packet::{Header, IPV6_HEADER, Malformed, TCP, parse, word},
};

/// Size of `struct virtio_net_hdr`.
pub(crate) const OFFLOAD: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
/// Segments of a super-packet. With the smallest segment size of Linux (48 bytes, `tcp_min_snd_mss`) 64 kB
/// have fewer; only a raw socket can send more.
pub(crate) const MAX_SEGMENTS: usize = 2048;
/// Flag: CWR is set, for the first segment only.
const GSO_ECN: u8 = 0x80;
/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;

const FIN_AND_PUSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// `struct virtio_net_hdr` (Virtual I/O Device 1.2, 5.1.6), in the machine's own byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// 1: the checksum is partial.
    pub flags: u8,
    /// The type of super-packet; 0: an ordinary packet.
    pub kind: u8,
    /// Length of the headers (a hint).
    pub headers: u16,
    /// Payload bytes per segment.
    pub segment: u16,
    /// The checksum covers the packet from here...
    pub sum_start: u16,
    /// ...and is stored at this offset from there.
    pub sum_offset: u16,
}

impl Offload {
    /// Parse it from the front of bytes read from a device; returns the rest, too.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn read(bytes: &[u8]) -> Result<(Offload, &[u8]), Malformed> {
        let (b, packet) = bytes.split_first_chunk::<OFFLOAD>().ok_or(Malformed::Short)?;
        let pair = |at: usize| u16::from_ne_bytes([b[at], b[at + 1]]);
        let offload = Offload {
            flags: b[0],
            kind: b[1],
            headers: pair(2),
            segment: pair(4),
            sum_start: pair(6),
            sum_offset: pair(8),
        };
        Ok((offload, packet))
    }

    /// Its wire format.
    pub fn bytes(self) -> [u8; OFFLOAD] {
        let [h, s, start, offset] =
            [self.headers, self.segment, self.sum_start, self.sum_offset].map(u16::to_ne_bytes);
        [self.flags, self.kind, h[0], h[1], s[0], s[1], start[0], start[1], offset[0], offset[1]]
    }
}

/// Parse bytes read from a device and split them into packets. `each` is called for every packet, with its
/// header, its `virtio_net_hdr`, and the two parts of its bytes.
///
/// # Errors
/// A packet that cannot be routed, or an invalid super-packet; `each` is not called then.
pub fn split(bytes: &[u8], mut each: impl FnMut(&Header, Offload, &[u8], &[u8])) -> Result<(), Malformed> {
    let (offload, packet) = Offload::read(bytes)?;
    let header = parse(packet)?;
    if offload.kind == GSO_NONE {
        let sum_end = usize::from(offload.sum_start) + usize::from(offload.sum_offset) + 2;
        if offload.flags & NEEDS_CHECKSUM != 0 && sum_end > packet.len() {
            return Err(Malformed::Offload);
        }
        let Offload { flags, sum_start, sum_offset, .. } = offload;
        let plain = Offload { flags: flags & NEEDS_CHECKSUM, sum_start, sum_offset, ..Offload::default() };
        each(&header, plain, packet, &[]);
        return Ok(());
    }
    let kind = if header.is_ipv6() { GSO_TCP6 } else { GSO_TCP4 };
    let Some(tcp) = header.tcp else { return Err(Malformed::Offload) };
    if offload.kind & !GSO_ECN != kind || offload.segment == 0 || header.fragment.is_some() {
        return Err(Malformed::Offload);
    }
    let headers = header.transport + tcp.header;
    let size = usize::from(offload.segment);
    let payload = &packet[headers..header.length];
    let segments = payload.len().div_ceil(size).max(1);
    if segments > MAX_SEGMENTS {
        return Err(Malformed::Offload);
    }
    let template = &packet[..headers];
    let plain = Offload {
        flags: NEEDS_CHECKSUM,
        sum_start: header.transport as u16,
        sum_offset: TCP_CHECKSUM as u16,
        ..Offload::default()
    };
    let mut own = [0; 256];
    let Some(own) = own.get_mut(..headers) else { return Err(Malformed::Offload) };
    for i in 0..segments {
        let data = &payload[i * size..payload.len().min((i + 1) * size)];
        own.copy_from_slice(template);
        let (at, length) = (header.transport, headers + data.len());
        let sequence = tcp.sequence.wrapping_add((i * size) as u32);
        own[at + 4..at + 8].copy_from_slice(&sequence.to_be_bytes());
        if i > 0 {
            own[at + 13] &= !CWR;
        }
        if i + 1 < segments {
            own[at + 13] &= !FIN_AND_PUSH;
        }
        put_lengths(own, &header, length, i as u16);
        let flags = own[at + 13];
        let one = Header {
            length,
            payload: data.len(),
            tcp: Some(crate::packet::Tcp { sequence, flags, ..tcp }),
            ..header
        };
        each(&one, plain, own, data);
    }
    Ok(())
}

/// Set the length fields of segment number `i`, and the checksums that depend on them.
fn put_lengths(own: &mut [u8], header: &Header, length: usize, i: u16) {
    let at = header.transport;
    let mut sum = u64::from(TCP) + (length - at) as u64;
    if header.is_ipv6() {
        own[4..6].copy_from_slice(&((length - IPV6_HEADER) as u16).to_be_bytes());
        sum = checksum::add(sum, &own[8..40]);
    } else {
        own[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        let id = word(own, 4).wrapping_add(i);
        own[4..6].copy_from_slice(&id.to_be_bytes());
        own[10..12].fill(0);
        let own_sum = !checksum::fold(checksum::add(0, &own[..at]));
        own[10..12].copy_from_slice(&own_sum.to_be_bytes());
        sum = checksum::add(sum, &own[12..20]);
    }
    // A partial checksum is the sum over the pseudo-header, not complemented.
    own[at + TCP_CHECKSUM..at + TCP_CHECKSUM + 2].copy_from_slice(&checksum::fold(sum).to_be_bytes());
}
