"""The world ``kernel``: hosts, queues and links of an unmodified Linux kernel, in exact virtual time."""
