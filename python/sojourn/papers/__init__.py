"""Papers re-run: scenarios, published numbers, claims, figures; users of the library, never part of it."""
