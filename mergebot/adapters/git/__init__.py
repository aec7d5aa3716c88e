"""Git through its command line: bare mirrors, replay in memory, and one atomic landing push."""
