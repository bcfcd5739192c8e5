"""The same scenario in two worlds: how far they agree."""
