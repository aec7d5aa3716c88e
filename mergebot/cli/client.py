"""Which running bot a command asks, and about which repository."""

import click

from mergebot.adapters.bot_api import Bot
from mergebot.settings import Settings, asking_token, load


def bot() -> Bot:
    """Return the bot that the settings name; the address for people is the one that it answers at."""
    settings = load()
    return Bot(settings.pages, asking_token(settings))


def repository(given: str, running: Bot, settings: Settings | None = None) -> str:
    """Return the repository meant: the given one, the only one of the settings, or of the bot."""
    if given:
        if given.count("/") != 1 or not all(given.split("/")):
            raise click.UsageError(f"--repo is {given!r}; it must be owner/name.")
        return given
    known = list((settings or load()).repos)
    if len(known) != 1:
        known = [str(lane["repo"]) for lane in running.get("/repos")["lanes"]]
    if len(known) == 1:
        return known[0]
    if not known:
        raise click.ClickException("The bot serves no repository yet.")
    raise click.UsageError(f"name one with --repo: {', '.join(sorted(known))}")
