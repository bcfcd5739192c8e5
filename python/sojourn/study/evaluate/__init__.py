"""The evaluation of RFC 7928: scenarios, runs, verdicts."""
