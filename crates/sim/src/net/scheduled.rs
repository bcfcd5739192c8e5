//! Packets under the care of a scheduler: it decides the order and who is dropped or marked, by number; the packets
//! themselves lie here.

use super::{
    Packet,
    clerk::{Clerk, Waiting},
};
use sojourn_aqm::{Fate, Scheduler, Stream, Time, Token};

/// A scheduler and what waits in it.
pub(super) struct Scheduled {
    scheduler: Box<dyn Scheduler>,
    shelf: Shelf,
    rng: Stream,
    /// The packet taken last.
    taken: Packet,
}

/// Packets by token; places are used again.
#[derive(Default)]
struct Shelf {
    places: Vec<Option<Waiting>>,
    free: Vec<usize>,
}

impl Shelf {
    fn put(&mut self, one: Waiting) -> Token {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(one);
        Token(place as u64)
    }

    fn take(&mut self, token: Token) -> Waiting {
        self.free.push(token.0 as usize);
        self.places[token.0 as usize].take().expect("a scheduler hands back what it was given, once")
    }

    fn get(&mut self, token: Token) -> &mut Waiting {
        self.places[token.0 as usize].as_mut().expect("a scheduler speaks of what waits")
    }

    /// Carry out what the scheduler decided about a packet.
    fn settle(&mut self, now: u64, token: Token, fate: Fate, clerk: &mut Clerk) {
        match fate {
            Fate::Dropped(cause) => {
                let one = self.take(token);
                clerk.discard(now, &one.packet, cause, one.number);
            }
            Fate::Marked(cause) => clerk.mark(now, &mut self.get(token).packet, cause),
        }
    }
}

impl Scheduled {
    pub(super) fn new(name: &str, scheduler: Box<dyn Scheduler>, seed: u64) -> Scheduled {
        let rng = Stream::new(seed, &format!("queue/{name}/aqm"));
        Scheduled { scheduler, shelf: Shelf::default(), rng, taken: Packet::default() }
    }

    /// Packets and bytes that wait.
    pub(super) fn backlog(&self) -> (u32, u64) {
        (self.scheduler.packets(), self.scheduler.bytes())
    }
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.shelf.places.iter().flatten().map(|one| &one.packet)
    }
    pub(super) fn scheduler(&self) -> &dyn Scheduler {
        &*self.scheduler
    }

    /// A packet arrives.
    #[inline(never)]
    pub(super) fn offer(&mut self, now: u64, packet: &Packet, clerk: &mut Clerk) {
        let before = self.backlog();
        clerk.arrival(now, packet);
        let token = self.shelf.put(Waiting { packet: *packet, arrived: now, number: clerk.latest() });
        let shelf = &mut self.shelf;
        self.scheduler.enqueue(Time(now), token, &packet.view(now), &mut self.rng, &mut |token, fate| {
            shelf.settle(now, token, fate, clerk);
        });
        clerk.counters.change(now, before, self.backlog());
    }

    /// Take the next packet to send, if there is one.
    #[inline(never)]
    pub(super) fn take(&mut self, now: u64, clerk: &mut Clerk) -> Option<&Packet> {
        let (before, shelf) = (self.backlog(), &mut self.shelf);
        let next = self.scheduler.dequeue(Time(now), &mut self.rng, &mut |token, fate| {
            shelf.settle(now, token, fate, clerk);
        });
        clerk.counters.change(now, before, self.backlog());
        let Some((token, _)) = next else {
            clerk.rest(now);
            return None;
        };
        let one = self.shelf.take(token);
        self.taken = one.packet;
        clerk.departure(now, one.packet.bytes, one.packet.class, one.arrived);
        Some(&self.taken)
    }

    pub(super) fn on_timer(&mut self, now: u64) {
        self.scheduler.on_timer(Time(now));
    }
}
