//! Applications that write packets one by one.

use super::*;

fn path(preset: &str, set: &[(&str, &str)]) -> Path {
    let mut path = Path::new(options(preset, set), 4, 0, &[]);
    path.sender = Sender::new(&path.o, 1000, 0, |_| Stream::new(0, "")).waiting_for_data();
    path
}

impl Path {
    fn write(&mut self, packets: u32) -> Turn {
        self.sender.write(packets);
        let mut out = Vec::new();
        self.sender.resume(&self.o, self.now, &mut out);
        self.carry(-1, 0, out)
    }
}

/// Data are sent as far as the window allows, the rest when ACKs allow it.
#[test]
fn written_data_wait_for_the_window() {
    let mut path = path("rfc", &[("syn", "off")]);
    path.sender.cwnd = 4.0;
    assert_eq!(path.write(2).sequences(), [0, 1]);
    assert_eq!(path.write(7).sequences(), [2, 3]);
    path.drain();
    assert_eq!((path.sender.una, path.sender.snd_max(), path.sender.end()), (9, 9, 9));
    assert_eq!(path.sender.deadline(), None, "nothing is outstanding");
    assert_eq!(path.write(1).sequences(), [9]);
    assert!(path.sender.deadline().is_some());
}

/// A mark on the last packet written leaves a window below one packet. The timer runs and opens the window
/// again, although nothing is outstanding, and then stops.
#[test]
fn a_window_below_one_packet_waits_for_the_timer_even_if_nothing_is_outstanding() {
    let mut path = path("ns2", &[("ecn", "on"), ("syn", "off")]);
    path.mark.insert((0, 0));
    assert_eq!(path.write(1).sequences(), [0]);
    path.drain();
    assert!(path.sender.cwnd() < 1.0);
    assert_eq!(path.write(1).sequences(), [] as [u32; 0]);
    assert_eq!(path.expire().sequences(), [1]);
    path.drain();
    assert_eq!((path.sender.una, path.sender.deadline()), (2, None));
    path.mark.extend([(2, 0), (3, 0)]);
    for _ in 0..2 {
        path.write(1);
        path.drain();
    }
    assert_eq!(path.expire().sequences(), [] as [u32; 0]);
    assert_eq!((path.sender.cwnd(), path.sender.deadline()), (1.0, None));
}

#[test]
fn nothing_is_written_after_the_end() {
    let mut path = path("rfc", &[("syn", "off")]);
    path.write(1);
    path.sender.stop();
    assert_eq!(path.write(5).sequences(), [] as [u32; 0]);
    path.drain();
    assert!(path.sender.is_done());
    assert_eq!(path.sender.deadline(), None);
}
