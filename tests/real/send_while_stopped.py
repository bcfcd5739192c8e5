"""Send datagrams while a process is stopped: ``python -m real.send_while_stopped PID ADDRESS PORT COUNT``

The process is stopped, then continued after the last datagram. It prints the time in nanoseconds between the
first datagram and the end of the stop.
"""

import os
import signal
import socket
import sys
import time

from real.hold import has_stopped

#: Bytes of a datagram, and the minimum time between two, s.
SIZE, GAP = 1000, 0.002


def main() -> None:
    """Stop, send, continue."""
    pid, address, port, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((address, port))
        os.kill(pid, signal.SIGSTOP)
        while not has_stopped(pid):
            time.sleep(0.001)
        start = time.monotonic_ns()
        for _ in range(count):
            sender.send(bytes(SIZE))
            time.sleep(GAP)
        held = time.monotonic_ns() - start
        os.kill(pid, signal.SIGCONT)
    print(held)


if __name__ == "__main__":
    main()
