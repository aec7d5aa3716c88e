"""The record over dictionaries, with the semantics of the one on Redis, for tests and simulation."""
