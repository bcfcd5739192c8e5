"""The simulator compared with the Linux kernel in virtual time, cell by cell."""
