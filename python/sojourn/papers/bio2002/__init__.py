"""The BIO paper (Okuroglu and Oktug 2001; in the catalogue bio2002), re-run.

RED and BLUE under a thousand on/off applications, with long and short round trips, with and without ECN;
then RIO and BIO, which are two of each in one queue, for packets inside and outside their profile.
``experiments`` and ``readings`` are what is simulated; ``checks`` decides each claim.
"""
