//! File descriptors, the clock and the scheduler: the system calls of the crate, except those of `tap`.
//!
//! Devices are polled with `ppoll`. Its timeout is in nanoseconds; with a timer slack of 1 ns, it returns
//! within some tens of microseconds of the timeout.

#![allow(clippy::disallowed_methods, reason = "the module of the clock")]

use crate::{plan::Tap as TapPlan, segment::OFFLOAD, tap::Tap};
use sojourn_aqm::{Span, Time};
use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsRawFd, BorrowedFd, RawFd},
    time::{Duration, Instant},
};

/// Time since the start of the gateway (`CLOCK_MONOTONIC`).
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(Instant::now())
    }
    pub(crate) fn now(&self) -> Time {
        Time(self.0.elapsed().as_nanos() as u64)
    }
}

/// A TUN device.
pub(crate) struct Device {
    /// `None` after the device was deleted.
    file: Option<File>,
    tap: Option<Tap>,
}

/// The result of a read.
pub(crate) enum ReadResult {
    Bytes(usize),
    Empty,
    /// The device has been deleted.
    Gone,
}

impl Device {
    /// Duplicate the descriptors; that of the device must be non-blocking.
    pub(crate) fn new(fd: RawFd, tap: Option<TapPlan>) -> io::Result<Device> {
        // SAFETY: the descriptor is only duplicated, within this statement; the caller keeps it open. For a
        // number that is not an open descriptor, the duplication returns an error.
        let file = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
        Ok(Device { file: Some(File::from(file)), tap: tap.map(Tap::new).transpose()? })
    }

    /// When a packet arrived that was read at `now`, and whether the kernel reported that.
    pub(crate) fn arrival(&mut self, bytes: &[u8], now: Time) -> (Time, bool) {
        match (&mut self.tap, bytes.get(OFFLOAD..)) {
            (Some(tap), Some(packet)) => tap.arrival(packet, now),
            _ => (now, false),
        }
    }

    /// A read at `now` found no packet.
    pub(crate) fn on_empty(&mut self, now: Time) {
        if let Some(tap) = &mut self.tap {
            tap.on_empty(now);
        }
    }

    pub(crate) fn read(&mut self, into: &mut [u8]) -> ReadResult {
        let Some(file) = &mut self.file else { return ReadResult::Empty };
        match file.read(into) {
            Ok(0) => self.close(),
            Ok(length) => ReadResult::Bytes(length),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                ReadResult::Empty
            }
            Err(_) => self.close(),
        }
    }

    /// Write a packet; returns whether the device accepted it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.file.as_mut().is_some_and(|file| matches!(file.write(bytes), Ok(n) if n == bytes.len()))
    }

    fn close(&mut self) -> ReadResult {
        self.file = None;
        ReadResult::Gone
    }
}

/// Polls devices for input.
pub(crate) struct Poll(Vec<libc::pollfd>);

impl Poll {
    pub(crate) fn new(devices: &[Device]) -> Poll {
        let one = |device: &Device| libc::pollfd {
            // ppoll ignores negative descriptors.
            fd: device.file.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            events: libc::POLLIN,
            revents: 0,
        };
        Poll(devices.iter().map(one).collect())
    }

    /// Wait until a device has input, at most `timeout`.
    pub(crate) fn wait(&mut self, timeout: Span) {
        let timeout = Duration::from_nanos(timeout.0);
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: timeout.subsec_nanos() as libc::c_long,
        };
        // SAFETY: pointer and length are those of one live Vec of pollfd, in which the kernel writes
        // `revents`; `timeout` outlives the call; a null signal mask is allowed.
        let ready = unsafe {
            libc::ppoll(self.0.as_mut_ptr(), self.0.len() as libc::nfds_t, &timeout, std::ptr::null())
        };
        if ready < 0 {
            self.0.iter_mut().for_each(|one| one.revents = 0); // interrupted
        }
    }

    /// Whether device `i` has input or an error, which a read returns.
    pub(crate) fn is_ready(&self, i: usize) -> bool {
        self.0[i].revents != 0
    }
}

/// Set the timer slack to 1 ns and, if `priority` is not 0, request real-time scheduling; returns whether it
/// was granted.
pub(crate) fn set_real_time(priority: u8) -> bool {
    // SAFETY: prctl with PR_SET_TIMERSLACK takes a number and accesses no memory of this process.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
    if priority == 0 {
        return false;
    }
    let wanted = libc::sched_param { sched_priority: i32::from(priority) };
    // SAFETY: `wanted` is a live sched_param; 0 means the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &wanted) == 0 }
}

/// Run the calling thread on `processor` with the idle policy (SCHED_IDLE); returns whether it was granted.
pub(crate) fn run_idle_on(processor: usize) -> bool {
    let lowest = libc::sched_param { sched_priority: 0 };
    // SAFETY: all zeros is a valid cpu_set_t: the empty set.
    let mut only: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if processor >= libc::CPU_SETSIZE as usize {
        return false;
    }
    // SAFETY: `only` and `lowest` are live, `processor` is below the set's size, and 0 means the calling
    // thread.
    unsafe {
        libc::CPU_SET(processor, &mut only);
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &lowest) == 0
            && libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &only) == 0
    }
}
