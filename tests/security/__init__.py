"""Attacks on the real thing, by class; docs/security.md has the table of them."""
