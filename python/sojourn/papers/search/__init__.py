"""Readings of a paper tried jointly: which unstated choices its results depend on.

``space`` declares what can be chosen, ``design`` draws joint readings from it, ``halves`` splits what the
paper prints into a half that is scored and a half that is only shown, ``score`` compares the runs of a
reading with the print, ``effects`` finds the choices that decide, ``run`` does all of that in stages
through the store of runs, ``standing`` words what follows for each claim, and ``report`` writes it.
"""
