"""The AVQRED paper (Byun and Baras 2007), re-run: so far its fluid model (sections 6 and 7).

AVQRED feeds RED the length of a virtual queue that is served a little slower than the link. ``equations``
says which readings of the printed equations are solved (`sojourn.fluid.avqred` solves them), ``checks``
decides each claim, ``sections`` draws Figs. 6 to 8.
"""
