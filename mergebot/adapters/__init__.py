"""Everything that does I/O, each behind a port, and the same ports over memory."""
