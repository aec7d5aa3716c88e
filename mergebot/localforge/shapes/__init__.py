"""Rows as GitHub's JSON: one room per kind of thing, shared by the API and the webhooks."""
