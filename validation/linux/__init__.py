"""Five queue disciplines of Linux, simulated and compared with the kernel."""
