"""A GitHub-compatible forge on bare repositories: an application of its own, reached by HTTP and git."""
