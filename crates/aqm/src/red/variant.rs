//! The variant of RED: the parameters that are read for every packet.

/// Which packets the counter counts, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Counting {
    /// Tested packets, this one included.
    Before,
    /// Tested packets, this one not included.
    After,
    /// Every arrival, as ns-2.
    Ns2,
}

impl Counting {
    /// The counter below min_th: the first packet tested after that has p_a = p_b.
    pub(super) fn start(self) -> i64 {
        if self == Counting::Before { -1 } else { 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variant {
    pub(super) counting: Counting,
    /// Thresholds in bytes.
    pub(super) bytes: bool,
    pub(super) wait: bool,
    /// NLRED: up to max_th the probability increases with the square of the average.
    pub(super) quadratic: bool,
}

/// The variant of the paper.
pub(super) const FJ93: Variant =
    Variant { counting: Counting::Before, bytes: false, wait: false, quadratic: false };
/// The variant of ns-2.
pub(super) const NS2: Variant = Variant { counting: Counting::Ns2, wait: true, ..FJ93 };

/// Whether it is one of the two common variants.
#[derive(Clone, Copy, Debug)]
pub(super) enum Usual {
    Ns2,
    Fj93,
    Neither,
}

impl Usual {
    pub(super) fn of(variant: Variant) -> Usual {
        match variant {
            NS2 => Usual::Ns2,
            FJ93 => Usual::Fj93,
            _ => Usual::Neither,
        }
    }
}
