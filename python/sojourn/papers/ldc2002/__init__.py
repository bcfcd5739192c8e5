"""The LDC paper (Kwon and Fahmy 2002), re-run.

LDC drops with a probability that adds a power of the averaged queueing delay and one of the load, each
against its target. The paper compares it with DropTail, RED, SRED, FRED, BLUE and REM under web traffic.
``analytic`` checks its formula, ``complexity`` what an algorithm keeps and computes; ``experiments`` and
``readings`` are what is simulated; ``checks`` decides each claim.
"""
