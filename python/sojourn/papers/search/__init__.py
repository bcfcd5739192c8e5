"""A search over joint readings of a paper: it finds the unstated choices on which the results depend.

``space`` declares what can be chosen, ``design`` draws joint readings from it, ``halves`` splits what the
paper prints into a half that is scored and a half that is only shown, ``score`` compares the runs of a
reading with the printed results, ``effects`` finds the choices with a significant effect, ``run`` executes
these stages with the store of runs, ``standing`` derives the verdict on each claim, and ``report`` writes the
files.
"""
