//! `sojourn-aqm` without `std`. This crate has a panic handler of its own, and so has `std`: if any
//! dependency links `std`, the compiler refuses the second one (E0152).

#![no_std]

use sojourn_aqm::{Context, Limit, PacketView, SpecError, Time, codel, codel::CoDel, queue::Fifo};

#[cfg(not(test))] // the test harness links std
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

/// A queue of buffer numbers, as a driver would have it.
///
/// # Errors
/// None: the defaults are valid.
pub fn queue() -> Result<Fifo<CoDel, u16>, SpecError> {
    let link = Context::new(100_000_000, Limit::Packets(256));
    let mut queue = Fifo::new(CoDel::new(codel::Config::default())?, &link, 1);
    queue.enqueue(Time::ZERO, PacketView::new(1500, Time::ZERO), 0, |_, _, _| ());
    Ok(queue)
}
