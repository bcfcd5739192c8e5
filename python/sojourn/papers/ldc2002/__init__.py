"""The LDC paper (Kwon and Fahmy 2002), re-run.

LDC drops with a probability that adds a power of the averaged queueing delay and one of the load, each
against its target. The paper compares it with DropTail, RED, SRED, FRED, BLUE and REM under web traffic.
``analytic`` checks its formula, ``complexity`` the state and work of each algorithm; ``experiments`` and
``readings`` define the simulations; ``checks`` decides each claim.
"""
