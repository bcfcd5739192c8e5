"""Studies: many runs, planned, stored, executed and compared.

``plan`` names the points, ``store`` knows what is done, ``execute`` runs what is missing, ``stats``
turns seeds into estimates with intervals.
"""
