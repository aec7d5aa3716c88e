"""The merge queue's decisions: pure values and rules, without clock, randomness or I/O."""
