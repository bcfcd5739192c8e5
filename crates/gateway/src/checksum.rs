//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

/// Add the 16-bit words of `bytes` to `sum`, without folding.
pub(crate) fn add(mut sum: u64, bytes: &[u8]) -> u64 {
    let mut pairs = bytes.chunks_exact(2);
    for pair in &mut pairs {
        sum += u64::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    if let [last] = pairs.remainder() {
        sum += u64::from(*last) << 8;
    }
    sum
}

/// Fold a sum to 16 bits.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum of a header after its 16-bit word `old` became `new`: HC' = ~(~HC + ~m + m') (RFC 1624,
/// equation 3).
pub(crate) fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}
