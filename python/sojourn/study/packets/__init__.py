"""The log of packets of a run for other programs: pcapng (Wireshark, tcpdump) and traces of ns-2."""
