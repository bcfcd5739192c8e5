"""The AVQRED paper (Byun and Baras 2007), re-run: its arithmetic, its testbed simulated, its fluid model.

AVQRED applies RED to the length of a virtual queue that is served at the measured departure rate of the
gateway. ``settings`` is Table 1; ``experiments`` and ``readings`` define the simulations; ``arithmetic``
checks the printed tables against each other, ``ranking`` is the paper's rank rule, ``testbed`` has the checks
of the claims about packets. ``equations`` lists the readings of the printed equations that are solved
(`sojourn.worlds.fluid.avqred` solves them), ``fluid`` checks the claims about them.
"""
