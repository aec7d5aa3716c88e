"""GitHub, GitHub Enterprise and the local forge over their one REST API, through PyGithub."""
