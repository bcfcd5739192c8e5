"""The RAQM paper (Wang, Li, Hou, Sohraby, Long 2005), re-run.

RAQM multiplies its drop probability each second by an exponential of the mismatch between input rate and link
rate, and scales it by queue / q_0 at each packet. ``theorems`` checks the paper's theorems on the map of
`sojourn.worlds.fluid.raqm`; ``experiments`` and ``readings`` define the simulations; ``checks`` decides each
claim.
"""
