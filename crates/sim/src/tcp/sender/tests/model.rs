//! A literal model of RFC 6675 against the sender: both get the same ACKs and must send the same packets.

use super::*;
use proptest::prelude::*;

const DUP_THRESH: usize = 3;

/// The variables of RFC 6675, section 2; a packet is both an octet and an SMSS. Sequence numbers start at 1,
/// so that HighACK is 0 before the first ACK.
#[derive(Debug)]
struct Model {
    high_ack: i64,
    high_data: i64,
    high_rxt: i64,
    rescue_rxt: Option<i64>,
    recovery_point: Option<i64>,
    dup_acks: u32,
    sacked: BTreeSet<i64>,
    cwnd: f64,
    ssthresh: f64,
    rwnd: i64,
    last: i64,
}

impl Model {
    fn is_lost(&self, s: i64) -> bool {
        self.sacked.range(s + 1..).count() >= DUP_THRESH
    }

    fn set_pipe(&self) -> i64 {
        let mut pipe = 0;
        for s1 in self.high_ack + 1..=self.high_data {
            if !self.sacked.contains(&s1) {
                pipe += i64::from(!self.is_lost(s1));
                pipe += i64::from(s1 <= self.high_rxt);
            }
        }
        pipe
    }

    fn may_send_new(&self) -> bool {
        self.high_data < self.last && self.high_data < self.high_ack + self.rwnd
    }

    /// NextSeg (section 4): the packet, and whether rule 4 selected it.
    fn next_seg(&self) -> Option<(i64, bool)> {
        let top = self.sacked.last().copied().unwrap_or(0);
        let candidates =
            || (self.high_ack.max(self.high_rxt) + 1..top).filter(|s2| !self.sacked.contains(s2));
        if let Some(s2) = candidates().find(|s2| self.is_lost(*s2)) {
            return Some((s2, false));
        }
        if self.may_send_new() {
            return Some((self.high_data + 1, false));
        }
        if let Some(s2) = candidates().next() {
            return Some((s2, false));
        }
        if self.rescue_rxt.is_none_or(|rescue| self.high_ack > rescue) {
            return (self.high_ack + 1..=self.high_data)
                .rev()
                .find(|s| !self.sacked.contains(s))
                .map(|s| (s, true));
        }
        None
    }

    /// Section 5, step C.
    fn fill_pipe(&mut self, sent: &mut Vec<i64>) {
        let mut pipe = self.set_pipe();
        while self.cwnd as i64 - pipe >= 1
            && let Some((s, is_rescue)) = self.next_seg()
        {
            sent.push(s);
            if is_rescue {
                self.rescue_rxt = self.recovery_point;
            } else if s <= self.high_data {
                self.high_rxt = s;
            }
            self.high_data = self.high_data.max(s);
            pipe += 1;
        }
    }

    fn fill_window(&mut self, sent: &mut Vec<i64>) {
        while self.may_send_new() && self.high_data - self.high_ack < self.cwnd as i64 {
            self.high_data += 1;
            sent.push(self.high_data);
        }
    }

    fn on_ack(&mut self, ack: Ack) -> Vec<i64> {
        let mut sent = Vec::new();
        let high_ack = i64::from(ack.next);
        let blocks = ack.sack.iter().flat_map(|(first, end)| i64::from(*first) + 1..=i64::from(*end));
        let news: Vec<i64> = blocks.filter(|s| *s > high_ack && !self.sacked.contains(s)).collect();
        self.sacked.extend(&news);
        let is_cumulative = high_ack > self.high_ack;
        if is_cumulative {
            self.high_ack = high_ack;
            self.sacked = self.sacked.split_off(&(high_ack + 1));
            self.dup_acks = 0;
        }
        match self.recovery_point {
            Some(point) if high_ack >= point => {
                self.recovery_point = None;
                self.fill_window(&mut sent);
            }
            Some(_) => self.fill_pipe(&mut sent),
            None if is_cumulative => {
                self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
                self.fill_window(&mut sent);
            }
            None if !news.is_empty() => {
                self.dup_acks += 1;
                if self.dup_acks as usize >= DUP_THRESH || self.is_lost(self.high_ack + 1) {
                    self.recovery_point = Some(self.high_data);
                    self.ssthresh = (((self.high_data - self.high_ack) / 2) as f64).max(2.0);
                    self.cwnd = self.ssthresh;
                    self.high_rxt = self.high_ack + 1;
                    self.rescue_rxt = Some(self.high_rxt);
                    sent.push(self.high_rxt);
                    self.fill_pipe(&mut sent);
                }
            }
            None => {}
        }
        sent
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    /// Until the first timeout, which RFC 6675 leaves to RFC 5681.
    #[test]
    fn the_sender_does_what_rfc_6675_says(window in 2u32..24,
                                          end in 1u32..120,
                                          receiver in prop::sample::select(vec!["8", "20", "10000"]),
                                          lose in prop::collection::btree_set((0u32..100, 0u32..2), 0..25)) {
        let set = [("variant", "sack"), ("syn", "off"), ("limited_transmit", "off"), ("receiver_window", receiver)];
        let o = options("rfc", &set);
        let rwnd = i64::from(o.receiver_window);
        let mut model = Model {
            high_ack: 0,
            high_data: 0,
            high_rxt: 0,
            rescue_rxt: None,
            recovery_point: None,
            dup_acks: 0,
            sacked: BTreeSet::new(),
            cwnd: f64::from(window),
            ssthresh: rwnd as f64,
            rwnd,
            last: i64::from(end),
        };
        let mut path = Path::new(o, window, end, &[]);
        path.lose = lose;
        path.start();
        model.fill_window(&mut Vec::new());
        while let Some(ack) = path.acks.front().copied()
            && !path.sender.is_done()
        {
            let sent: Vec<i64> = path.next().unwrap().sent.iter().map(|s| i64::from(s.sequence) + 1).collect();
            prop_assert_eq!(&sent, &model.on_ack(ack), "at {:?}, {:#?}", ack, model);
            prop_assert_eq!(path.sender.cwnd, model.cwnd);
            prop_assert_eq!(path.sender.is(Flags::RECOVERY), model.recovery_point.is_some());
        }
    }
}
