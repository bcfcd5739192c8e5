"""Five queue disciplines of Linux, simulated and beside what the kernel did."""
