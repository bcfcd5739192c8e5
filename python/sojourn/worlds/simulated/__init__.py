"""The simulated world: packets of the core's simulator, on this machine's cores or on a cluster."""
