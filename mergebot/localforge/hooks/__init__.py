"""Hooks that git starts inside the forge's repositories."""
