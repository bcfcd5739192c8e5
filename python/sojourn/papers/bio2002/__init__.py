"""The BIO paper (Okuroglu and Oktug 2001; id ``bio2002``), re-run.

RED and BLUE under a thousand on/off applications, with long and short round trips, with and without ECN;
then RIO and BIO, two instances of RED and of BLUE in one queue, for packets inside and outside their profile.
``experiments`` and ``readings`` define the simulations; ``checks`` decides each claim.
"""
