"""The record on Redis: the store, gate runs, their output, the inbox and the leases."""
