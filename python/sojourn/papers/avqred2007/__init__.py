"""The AVQRED paper (Byun and Baras 2007), re-run: its arithmetic, its testbed simulated, its fluid model.

AVQRED feeds RED the length of a virtual queue that is served at the rate at which the gateway really sends.
``settings`` is Table 1; ``experiments`` and ``readings`` are what is simulated; ``arithmetic`` holds the
printed tables against each other, ``ranking`` is the paper's rank rule, ``testbed`` has the checks of the
claims about packets. ``equations`` says which readings of the printed equations are solved
(`sojourn.worlds.fluid.avqred` solves them), ``fluid`` checks the claims about them.
"""
