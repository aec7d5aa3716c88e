"""Use-cases over ports: read one snapshot, ask the domain, write once."""
