"""Tail drop against RED (Brandauer et al. 2001), re-run.

The paper compares tail drop, RED and gentle RED with usual settings, and RED with settings computed for each
load, under long FTP flows (a testbed) and web traffic (ns-2). ``experiments`` and ``readings`` define the
simulations; ``ftp``, ``web`` and ``printed`` decide the claims.
"""
