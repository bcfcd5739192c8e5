//! A ring of memory shared with the kernel, in which it reports the packets that enter a device: a packet
//! socket with `PACKET_RX_RING` (Linux, Documentation/networking/packet_mmap.rst).

#![allow(clippy::disallowed_methods, reason = "the times of packets are those of the wall clock")]

use crate::{
    arrivals::{Arrivals, HEAD, Report, head_of},
    plan::Tap as TapPlan,
};
use sojourn_aqm::Time;
use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Numbers of `include/uapi/linux/if_packet.h`, `if_ether.h` and `filter.h`.
const PACKET_RX_RING: libc::c_int = 5;
const PACKET_VERSION: libc::c_int = 10;
const TPACKET_V2: libc::c_int = 1;
const STATUS_USER: u32 = 1;
const OUTGOING: u32 = 4;
const PACKET_TYPE: u32 = 0xffff_f004;

/// Bytes of a frame: a header of 80 bytes (`struct tpacket2_hdr`, an address, padding), then the packet.
const FRAME: usize = 80 + HEAD;
const BLOCK: usize = 4096;
/// More packets than the queue of a device holds.
const FRAMES: usize = 1 << 14;
const SIZE: usize = FRAME * FRAMES;

/// `struct tpacket_req`.
#[repr(C)]
struct RingRequest {
    block_size: u32,
    blocks: u32,
    frame_size: u32,
    frames: u32,
}

/// The reports of one device.
pub(crate) struct Tap {
    ring: NonNull<u8>,
    /// The socket, to which the ring belongs.
    socket: OwnedFd,
    next: usize,
    arrivals: Arrivals,
}

// SAFETY: `ring` is memory that only this value reads and writes in this process, on any thread.
unsafe impl Send for Tap {}

impl Tap {
    /// Report the packets that leave through the device of `plan`, on its packet socket.
    pub(crate) fn new(plan: TapPlan) -> io::Result<Tap> {
        // SAFETY: the descriptor is only duplicated, within this statement; the caller keeps it open.
        let socket = unsafe { BorrowedFd::borrow_raw(plan.fd) }.try_clone_to_owned()?;
        // Only outgoing packets: load the type; if it is 4 return HEAD, else 0.
        let program =
            [(0x20, 0, 0, PACKET_TYPE), (0x15, 0, 1, OUTGOING), (6, 0, 0, HEAD as u32), (6, 0, 0, 0)];
        let mut program = program.map(|(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k });
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)?;
        set(&socket, libc::SOL_PACKET, PACKET_VERSION, &TPACKET_V2)?;
        let request = RingRequest {
            block_size: BLOCK as u32,
            blocks: (SIZE / BLOCK) as u32,
            frame_size: FRAME as u32,
            frames: FRAMES as u32,
        };
        set(&socket, libc::SOL_PACKET, PACKET_RX_RING, &request)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of the ring, whose size is that of the request above.
        let ring = unsafe {
            libc::mmap(std::ptr::null_mut(), SIZE, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ring = NonNull::new(ring.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let tap = Tap { ring, socket, next: 0, arrivals: Arrivals::default() };
        tap.bind(plan.device)?;
        Ok(tap)
    }

    fn bind(&self, device: i32) -> io::Result<()> {
        // SAFETY: all zeros is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = device;
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: `address` is live, and `length` is its size.
        check(unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) })
    }

    /// The arrival of `packet`, which was read at `now`, and whether the kernel has reported it.
    pub(crate) fn arrival(&mut self, packet: &[u8], now: Time) -> (Time, bool) {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        while let Some((stamp, length, head)) = self.pop() {
            let age = wall.saturating_sub(stamp).as_nanos();
            let time = Time(now.0.saturating_sub(u64::try_from(age).unwrap_or(u64::MAX)));
            self.arrivals.add(Report { time, length, head });
        }
        self.arrivals.of(packet, now)
    }

    /// The device was found empty at `now`: the packets of earlier reports were dropped.
    pub(crate) fn on_empty(&mut self, now: Time) {
        self.arrivals.on_empty(now);
    }

    /// The next report of the kernel: the time on the wall clock, the length, and the first bytes.
    fn pop(&mut self) -> Option<(Duration, u32, [u8; HEAD])> {
        // SAFETY: `next` is below FRAMES, so the frame is within the ring, which is mapped until `self` is
        // dropped.
        let frame = unsafe { self.ring.add(self.next * FRAME) };
        // SAFETY: frames are aligned to 128 bytes; kernel and process access the status atomically.
        let status = unsafe { AtomicU32::from_ptr(frame.as_ptr().cast()) };
        if status.load(Ordering::Acquire) & STATUS_USER == 0 {
            return None;
        }
        // SAFETY: with STATUS_USER the kernel has written the frame and does not access it any more.
        let bytes: [u8; FRAME] = unsafe { frame.cast().read() };
        status.store(0, Ordering::Release);
        self.next = (self.next + 1) % FRAMES;
        let number = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (length, kept) = (number(4), number(8) as usize);
        let start = usize::from(u16::from_ne_bytes([bytes[12], bytes[13]]));
        let head = bytes.get(start..start + kept).unwrap_or_default();
        let stamp = Duration::from_secs(u64::from(number(16))) + Duration::from_nanos(u64::from(number(20)));
        Some((stamp, length, head_of(head)))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // SAFETY: the mapping of this ring, which nothing else refers to.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), SIZE) };
    }
}

fn set<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let (value, size) = ((&raw const *value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: `value` is live, and `size` is its size; the kernel only reads it.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value, size) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
