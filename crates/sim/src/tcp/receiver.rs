//! The receiving end: what has arrived, what to acknowledge, whether congestion was experienced.
//!
//! There may be very many, so what it needs only while something is missing, marked or held back is set reassembly; the
//! connection keeps there what only some connections have, `K`.

use super::{
    POOL_SIZE,
    options::{TcpOptions, Variant},
};
use crate::packet::Sack;
use std::num::NonZero;

/// A TCP receiver.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver<K = ()> {
    /// First packet still missing.
    next: u32,
    /// Of the packets that count, those that brought no payload: copies of earlier ones, the SYN.
    pub(crate) empty: u32,
    reassembly: Option<Box<Reassembly<K>>>,
}

/// Blocks of packets that arrived above `next`, as `first..end`, of which no two touch; that of the last arrival first
/// (RFC 2018, 4). Mostly there is one, and nothing else.
#[derive(Clone, Debug)]
struct Reassembly<K> {
    /// The first three, which are reported; behind the last one, 0..0.
    recent: Sack,
    /// Acknowledgements that are not delayed (Linux).
    quick: u32,
    /// Congestion was experienced and the sender has not answered with CWR yet (RFC 3168); or, where marks
    /// are echoed one by one, by the packet that came last (RFC 8257, DCTCP.CE).
    echo: bool,
    cold: Option<Box<ColdState<K>>>,
}

/// What few have.
#[derive(Clone, Debug)]
struct ColdState<K> {
    /// The blocks behind the first three.
    older: Vec<(u32, u32)>,
    /// When an acknowledgement that was held back must go.
    held: Option<NonZero<u64>>,
    app: Option<K>,
}

/// A block that is not there.
const NONE: (u32, u32) = (0, 0);

/// What receivers have set reassembly once and need no cold: the next that does takes it.
#[allow(clippy::vec_box, reason = "the boxes are what is saved")]
pub(crate) struct ReassemblyPool<K>(Vec<Box<Reassembly<K>>>);

impl<K> Default for ReassemblyPool<K> {
    fn default() -> ReassemblyPool<K> {
        ReassemblyPool(Vec::new())
    }
}

/// What an arrival meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// It had not been here before.
    pub(crate) is_new: bool,
    /// It was the next one and nothing is missing: its acknowledgement may be delayed.
    pub(crate) in_order: bool,
}

/// What [`Reassembly::quick`] is refilled to.
fn quick_acks(o: &TcpOptions) -> u32 {
    if o.delayed_ack > 0 { o.quick_acks } else { 0 }
}

impl<K> Default for Receiver<K> {
    fn default() -> Receiver<K> {
        Receiver { next: 0, empty: 0, reassembly: None }
    }
}

impl<K> Receiver<K> {
    pub(crate) fn new(o: &TcpOptions, app: Option<K>) -> Receiver<K> {
        let mut receiver = Receiver::default();
        let quick = quick_acks(o);
        if quick > 0 || app.is_some() {
            let reassembly = receiver.reassembly();
            reassembly.quick = quick;
            if app.is_some() {
                reassembly.cold().app = app;
            }
        }
        receiver
    }

    fn reassembly(&mut self) -> &mut Reassembly<K> {
        self.reassembly.get_or_insert_with(Reassembly::new)
    }

    /// What the connection keeps.
    #[inline]
    pub(crate) fn app(&self) -> Option<&K> {
        self.reassembly.as_ref()?.app()
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn app_mut(&mut self) -> Option<&mut K> {
        self.reassembly.as_mut()?.cold.as_mut()?.app.as_mut()
    }

    /// The same, made if there was nothing.
    pub(crate) fn app_or_default(&mut self) -> &mut K
    where
        K: Default,
    {
        self.reassembly().cold().app.get_or_insert_default()
    }

    /// Whether a packet with or without a mark must be told from those before it: acknowledge these first,
    /// and then it, at once (RFC 8257, 3.2).
    #[inline]
    pub(crate) fn turns(&self, o: &TcpOptions, ce: bool) -> bool {
        o.variant == Variant::Dctcp && self.echo() != ce
    }

    /// Whether the next acknowledgement of a packet in order may wait for a second.
    pub(crate) fn may_delay(&self) -> bool {
        self.reassembly.as_ref().is_none_or(|reassembly| reassembly.quick == 0)
    }

    /// When an acknowledgement that was held back must go.
    #[inline]
    pub(crate) fn held(&self) -> Option<NonZero<u64>> {
        self.reassembly.as_ref()?.cold.as_ref()?.held
    }

    /// Hold an acknowledgement back until then, or none any cold.
    pub(crate) fn hold(&mut self, until: Option<NonZero<u64>>) {
        if until.is_some() {
            self.reassembly().cold().held = until;
        } else if let Some(cold) = self.reassembly.as_mut().and_then(|reassembly| reassembly.cold.as_mut()) {
            cold.held = None;
        }
    }

    /// An acknowledgement leaves.
    #[inline]
    pub(crate) fn acknowledges(&mut self) {
        if let Some(reassembly) = &mut self.reassembly {
            reassembly.quick = reassembly.quick.saturating_sub(1);
        }
    }

    /// Packet `sequence` arrives, marked or not, at a receiver that holds nothing back. If it is as nearly every one, the
    /// next one while nothing is missing, or the next one above what is missing (not with `SACK`, which that may be
    /// reported by): up to where all have arrived, and the acknowledgement says just that. If not, it is for
    /// [`Receiver::lengthen`] or [`Receiver::receive`].
    #[inline(always)]
    pub(crate) fn receive_usual<const SACK: bool>(
        &mut self,
        sequence: u32,
        ce: bool,
        pool: &mut ReassemblyPool<K>,
    ) -> Option<u32> {
        let next = self.next;
        match &mut self.reassembly {
            _ if ce || sequence == 0 => None,
            None if sequence == next => {
                self.next = next + 1;
                Some(next + 1)
            }
            None if sequence > next && !SACK => {
                self.open_hole(sequence, pool);
                Some(next)
            }
            Some(reassembly) if !SACK && !reassembly.echo && reassembly.app().is_none() => {
                reassembly.grows_by(sequence).then_some(next)
            }
            _ => None,
        }
    }

    /// The same where it is to be reported, if all that it does is to make the latest block longer; whether it does.
    #[inline(always)]
    pub(crate) fn lengthen(&mut self, o: &TcpOptions, sequence: u32, ce: bool) -> bool {
        let is_usual = |reassembly: &&mut Box<Reassembly<K>>| {
            o.sack && !ce && !reassembly.echo && reassembly.app().is_none()
        };
        self.reassembly.as_mut().filter(is_usual).is_some_and(|reassembly| reassembly.grows_by(sequence))
    }

    #[inline(never)]
    fn open_hole(&mut self, sequence: u32, pool: &mut ReassemblyPool<K>) {
        let reassembly = self.reassembly.get_or_insert_with(|| pool.0.pop().unwrap_or_else(Reassembly::new));
        reassembly.recent[0] = (sequence, sequence + 1);
    }

    /// Packet `sequence` arrives; `ce`: marked, `cwr`: the sender has reduced its window.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        o: &TcpOptions,
        sequence: u32,
        (ce, cwr): (bool, bool),
        pool: &mut ReassemblyPool<K>,
    ) -> Received {
        let reassembly = self.reassembly.get_or_insert_with(|| pool.0.pop().unwrap_or_else(Reassembly::new));
        if o.variant == Variant::Dctcp {
            reassembly.echo = ce;
        } else {
            reassembly.echo &= !cwr;
            if ce && !reassembly.echo {
                reassembly.echo = true;
                reassembly.quick = reassembly.quick.max(quick_acks(o).min(2)); // the window may become very small
            }
        }
        let (next, quick) = (self.next, quick_acks(o));
        let reassembly = self.reassembly();
        let in_order = sequence == next && reassembly.has_none();
        let is_new = if sequence == next {
            self.next = self.reassembly().take_from(next + 1).unwrap_or(next + 1);
            true
        } else if sequence < next {
            reassembly.quick = quick; // a copy is acknowledged without delay, and so are some after it
            false
        } else {
            reassembly.add(sequence)
        };
        if o.delayed_ack == 0 && self.reassembly.as_ref().is_some_and(|reassembly| reassembly.is_blank()) {
            let reassembly = self.reassembly.take();
            if pool.0.len() < POOL_SIZE {
                pool.0.extend(reassembly);
            }
        }
        Received { is_new, in_order }
    }

    /// First packet still missing.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Whether acknowledgements carry an echo of congestion.
    #[inline]
    pub(crate) fn echo(&self) -> bool {
        self.reassembly.as_ref().is_some_and(|reassembly| reassembly.echo)
    }

    /// What is reported, if anything is: the latest block first.
    #[inline]
    pub(crate) fn reported(&self) -> Option<&Sack> {
        Some(&self.reassembly.as_deref().filter(|reassembly| !reassembly.has_none())?.recent)
    }
}

impl<K> Reassembly<K> {
    #[inline(never)]
    fn new() -> Box<Reassembly<K>> {
        Box::new(Reassembly { recent: Sack::default(), quick: 0, echo: false, cold: None })
    }

    /// Whether it need not be there.
    fn is_blank(&self) -> bool {
        self.has_none() && !self.echo && self.app().is_none()
    }

    fn cold(&mut self) -> &mut ColdState<K> {
        self.cold.get_or_insert_with(|| Box::new(ColdState { older: Vec::new(), held: None, app: None }))
    }

    #[inline]
    fn app(&self) -> Option<&K> {
        self.cold.as_ref()?.app.as_ref()
    }

    /// Whether there is no block.
    #[inline]
    fn has_none(&self) -> bool {
        self.recent[0] == NONE
    }

    /// The first block that is as wanted. No block that is not there is.
    #[inline(always)]
    fn find(&self, is_wanted: impl Fn(&(u32, u32)) -> bool) -> Option<usize> {
        let among_older =
            |cold: &ColdState<K>| Some(self.recent.len() + cold.older.iter().position(&is_wanted)?);
        let found = self.recent.iter().position(&is_wanted);
        found.or_else(|| self.cold.as_deref().and_then(among_older))
    }

    /// Whether `sequence` lengthens the latest block up to no other one; then it does.
    #[inline]
    fn grows_by(&mut self, sequence: u32) -> bool {
        let [latest, second, third] = self.recent;
        let is_next = latest.1 == sequence && sequence > 0;
        let behind = sequence + 1;
        let meets = second.0 == behind || third.0 == behind || self.older_begins(behind);
        if is_next && !meets {
            self.recent[0].1 = behind;
        }
        is_next && !meets
    }

    /// Whether one behind the first three begins with `first`.
    #[inline]
    fn older_begins(&self, first: u32) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.older.iter().any(|block| block.0 == first))
    }

    /// `block` becomes the latest.
    fn put(&mut self, block: (u32, u32)) {
        let [latest, second, third] = self.recent;
        if third != NONE {
            self.cold().older.insert(0, third);
        }
        self.recent = [block, latest, second];
    }

    /// Remove the `i`-th block.
    fn take(&mut self, i: usize) -> (u32, u32) {
        let behind = i.checked_sub(self.recent.len());
        if let Some(i) = behind {
            return self.cold().older.remove(i);
        }
        let older = self.cold.as_mut().map(|cold| &mut cold.older).filter(|older| !older.is_empty());
        let next = older.map_or(NONE, |older| older.remove(0));
        let [first, second, third] = self.recent;
        let (left, taken) = match i {
            0 => ([second, third], first),
            1 => ([first, third], second),
            _ => ([first, second], third),
        };
        self.recent = [left[0], left[1], next];
        taken
    }

    /// Remove the block that begins with packet `first`, which is not packet 0; its end.
    fn take_from(&mut self, first: u32) -> Option<u32> {
        let i = self.find(|block| block.0 == first)?;
        Some(self.take(i).1)
    }

    /// Packet `sequence` arrives, which is not packet 0; whether it is in no block yet.
    #[inline]
    fn add(&mut self, sequence: u32) -> bool {
        self.grows_by(sequence) || self.add_other(sequence)
    }

    #[inline(never)]
    fn add_other(&mut self, sequence: u32) -> bool {
        if self.find(|block| block.1 >= sequence).is_none() {
            self.put((sequence, sequence + 1));
            return true;
        }
        if let Some(i) = self.find(|block| (block.0..block.1).contains(&sequence)) {
            let block = self.take(i);
            self.put(block);
            return false;
        }
        let end = self.take_from(sequence + 1).unwrap_or(sequence + 1);
        match self.find(|block| block.1 == sequence) {
            Some(i) => {
                let (first, _) = self.take(i);
                self.put((first, end));
            }
            None => self.put((sequence, end)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::schema;
    use proptest::prelude::*;

    fn receive(r: &mut Receiver, o: &TcpOptions, sequence: u32, ce: bool, cwr: bool) -> Received {
        r.receive(o, sequence, (ce, cwr), &mut ReassemblyPool::default())
    }

    fn reports(r: &Receiver) -> Sack {
        r.reported().copied().unwrap_or_default()
    }

    fn options(preset: &str, set: &[(&str, &str)]) -> TcpOptions {
        let set: Vec<_> = set.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
        schema::resolve(preset, &set).unwrap()
    }

    /// Where losses are many, most receivers have one.
    #[test]
    fn what_is_set_aside_is_small() {
        assert!(size_of::<Reassembly<Box<()>>>() <= 40, "{} bytes", size_of::<Reassembly<Box<()>>>());
    }

    #[test]
    fn the_latest_block_is_reported_first() {
        let (o, mut r) = (options("default", &[]), Receiver::<()>::default());
        for sequence in [0, 2, 4, 6, 3] {
            receive(&mut r, &o, sequence, false, false);
        }
        assert_eq!(r.next(), 1);
        assert_eq!(reports(&r), [(2, 5), (6, 7), (0, 0)]);
        receive(&mut r, &o, 6, false, false);
        assert_eq!(reports(&r), [(6, 7), (2, 5), (0, 0)], "a duplicate brings its block to the front too");
        assert_eq!(receive(&mut r, &o, 1, false, false), Received { is_new: true, in_order: false });
        assert_eq!(r.next(), 5);
        for sequence in [8, 10, 12, 6] {
            receive(&mut r, &o, sequence, false, false);
        }
        assert_eq!(reports(&r), [(6, 7), (12, 13), (10, 11)]);
        receive(&mut r, &o, 11, false, false);
        assert_eq!(reports(&r), [(10, 13), (6, 7), (8, 9)]);
        receive(&mut r, &o, 5, false, false);
        receive(&mut r, &o, 7, false, false);
        assert_eq!((r.next(), reports(&r)), (9, [(10, 13), (0, 0), (0, 0)]));
    }

    #[test]
    fn congestion_is_echoed_until_the_sender_has_answered() {
        let (o, mut r) = (options("default", &[]), Receiver::<()>::default());
        receive(&mut r, &o, 0, true, false);
        receive(&mut r, &o, 1, false, false);
        assert!(r.echo());
        receive(&mut r, &o, 2, false, true);
        assert!(!r.echo());
        receive(&mut r, &o, 3, true, true);
        assert!(r.echo(), "a mark on the packet that carries CWR is news");
    }

    /// RFC 8257, 3.2: the echo is that of the last packet, and a change is told at once.
    #[test]
    fn marks_are_echoed_one_by_one_for_dctcp() {
        let o = options("default", &[("variant", "dctcp")]);
        let mut r = Receiver::<()>::new(&o, None);
        let mut seen = Vec::new();
        for (sequence, ce) in [false, true, true, false, true].into_iter().enumerate() {
            let turns = r.turns(&o, ce);
            receive(&mut r, &o, sequence as u32, ce, false);
            seen.push((turns, r.echo()));
        }
        assert_eq!(seen, [(false, false), (true, true), (false, true), (true, false), (true, true)]);
        assert!(!Receiver::<()>::default().turns(&options("default", &[]), true), "only there");
    }

    #[test]
    fn the_first_acknowledgements_are_quick() {
        let o = options("linux", &[]);
        let mut r = Receiver::<()>::new(&o, None);
        for _ in 0..16 {
            assert!(!r.may_delay());
            r.acknowledges();
        }
        assert!(r.may_delay());
        receive(&mut r, &o, 0, true, false);
        assert!(!r.may_delay(), "two after a mark");
    }

    proptest! {
        /// Beside a list of all blocks, however many. (Mutants: the third block is forgotten when there is a fourth; the
        /// fourth does not move up; a block is found among the older ones, but another is taken.)
        #[test]
        fn every_packet_is_new_once_in_any_order(order in Just((0u32..60).collect::<Vec<_>>()).prop_shuffle(),
                                                 again in proptest::collection::vec(0u32..60, 0..60)) {
            let (o, mut r) = (options("default", &[]), Receiver::<()>::default());
            let mut seen = [false; 60];
            let mut blocks: Vec<(u32, u32)> = Vec::new();
            for sequence in again.into_iter().chain(order) {
                let next = r.next();
                prop_assert_eq!(receive(&mut r, &o, sequence, false, false).is_new, !seen[sequence as usize]);
                seen[sequence as usize] = true;
                prop_assert_eq!(r.next() as usize, seen.iter().position(|s| !s).unwrap_or(60));
                if sequence >= next {
                    let touches = |block: &(u32, u32)| block.0 <= sequence + 1 && sequence <= block.1;
                    let joined = blocks.iter().filter(|block| touches(block));
                    let joined = joined.fold((sequence, sequence + 1), |a, b| (a.0.min(b.0), a.1.max(b.1)));
                    blocks.retain(|block| !touches(block));
                    if sequence > next {
                        blocks.insert(0, joined);
                    }
                }
                let first: Vec<_> = blocks.iter().copied().chain([NONE; 3]).take(3).collect();
                prop_assert_eq!(reports(&r).to_vec(), first);
            }
            prop_assert_eq!(r.next(), 60);
            prop_assert!(r.reassembly.is_none());
        }
    }
}
