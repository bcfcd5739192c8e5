//! File descriptors and the clock: everything here touches the machine, and nothing else in the crate does.
//!
//! Devices are polled with `ppoll`, whose timeout has nanoseconds and, with a timer slack of 1 ns, wakes within
//! some tens of microseconds.

#![allow(clippy::disallowed_methods, reason = "the only place that may read a clock")]

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsRawFd, BorrowedFd, RawFd},
    time::{Duration, Instant},
};

/// Nanoseconds since the gateway started; never backwards (`CLOCK_MONOTONIC`).
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(Instant::now())
    }
    pub(crate) fn now(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// A TUN device; `None` once it is gone.
pub(crate) struct Device {
    file: Option<File>,
}

/// What came of a read.
pub(crate) enum Got {
    Bytes(usize),
    Nothing,
    /// The device has been deleted.
    Gone,
}

impl Device {
    /// Duplicate the descriptor, which must not block.
    pub(crate) fn new(fd: RawFd) -> io::Result<Device> {
        // SAFETY: the descriptor is only duplicated, within this statement; the caller holds it open over the call. A
        // number that is not open makes the duplication fail, which is reported.
        let file = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
        Ok(Device { file: Some(File::from(file)) })
    }

    pub(crate) fn read(&mut self, into: &mut [u8]) -> Got {
        let Some(file) = &mut self.file else { return Got::Nothing };
        match file.read(into) {
            Ok(0) => self.lose(),
            Ok(length) => Got::Bytes(length),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Got::Nothing
            }
            Err(_) => self.lose(),
        }
    }

    /// Whether the device took it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.file.as_mut().is_some_and(|file| matches!(file.write(bytes), Ok(n) if n == bytes.len()))
    }

    fn lose(&mut self) -> Got {
        self.file = None;
        Got::Gone
    }
}

/// Which of some devices have something to read.
pub(crate) struct Poll(Vec<libc::pollfd>);

impl Poll {
    pub(crate) fn new(devices: &[Device]) -> Poll {
        let one = |device: &Device| libc::pollfd {
            // A negative descriptor is skipped.
            fd: device.file.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            events: libc::POLLIN,
            revents: 0,
        };
        Poll(devices.iter().map(one).collect())
    }

    /// Wait until one has, at most `timeout`.
    pub(crate) fn wait(&mut self, timeout: Duration) {
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: timeout.subsec_nanos() as libc::c_long,
        };
        // SAFETY: the pointer and the length are those of one live Vec of pollfd, which the kernel writes `revents`
        // of; `timeout` outlives the call; a null signal mask is allowed.
        let ready = unsafe {
            libc::ppoll(self.0.as_mut_ptr(), self.0.len() as libc::nfds_t, &timeout, std::ptr::null())
        };
        if ready < 0 {
            self.0.iter_mut().for_each(|one| one.revents = 0); // interrupted
        }
    }

    /// Whether number `i` may be read, or is in trouble, which a read will tell.
    pub(crate) fn is_ready(&self, i: usize) -> bool {
        self.0[i].revents != 0
    }
}

/// Ask for exact wake-ups and, if `priority` is not 0, for real-time scheduling; whether that was granted.
pub(crate) fn hurry(priority: u8) -> bool {
    // SAFETY: prctl with PR_SET_TIMERSLACK takes one number and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
    if priority == 0 {
        return false;
    }
    let wanted = libc::sched_param { sched_priority: i32::from(priority) };
    // SAFETY: `wanted` is a live sched_param; 0 means the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &wanted) == 0 }
}

/// Let the calling thread run on `processor`, and only while nobody else wants to; whether that was granted.
pub(crate) fn idle_on(processor: usize) -> bool {
    let lowest = libc::sched_param { sched_priority: 0 };
    // SAFETY: all bits zero are a cpu_set_t: the empty set.
    let mut only: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if processor >= libc::CPU_SETSIZE as usize {
        return false;
    }
    // SAFETY: `only` and `lowest` are live, `processor` is below the set's size, and 0 means the calling thread.
    unsafe {
        libc::CPU_SET(processor, &mut only);
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &lowest) == 0
            && libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &only) == 0
    }
}
