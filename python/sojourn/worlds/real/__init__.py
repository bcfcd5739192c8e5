"""The real world: real hosts and packets; only the bottleneck between them is emulated.

``namespace`` isolates hosts, ``tun`` connects them, ``gateway`` is the bottleneck and returns the record.
"""
