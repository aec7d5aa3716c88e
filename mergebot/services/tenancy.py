"""Which repositories are served: those of the settings, or all that the bot's App is installed on."""

from collections.abc import Sequence

import structlog

from mergebot.domain.ids import Lane
from mergebot.domain.news import InstallationChanged, RepositoryChanged
from mergebot.ports.errors import Missing
from mergebot.services.opening import open_lane
from mergebot.services.parts import Parts
from mergebot.services.reconciling import reconcile
from mergebot.services.repositories import forget

log = structlog.get_logger()

GONE = {"deleted", "archived"}


def served(parts: Parts) -> Sequence[str]:
    """Return the repositories to serve, and stop serving those that the App lost.

    Raises Unavailable.
    """
    if parts.repos:
        return parts.repos
    names = parts.forge.reachable()
    for lane in parts.store.lanes():
        if lane.repo not in names:
            _close(parts, lane, "the App is not installed there any more")
    return names


def installation_changed(parts: Parts, news: InstallationChanged) -> None:
    """Open lanes of repositories gained, close those of repositories lost."""
    for lane in parts.store.lanes():
        if lane.repo_id in news.lost:
            _close(parts, lane, "the App was taken off it")
    wanted = [name for name in news.gained if not parts.repos or name in parts.repos]
    if wanted:
        reconcile(parts, wanted)


def repository_changed(parts: Parts, news: RepositoryChanged) -> None:
    """Follow a repository to its new name, or stop serving one that takes no more changes."""
    forget(parts, news.full_name)
    known = next((each for each in parts.store.lanes() if each.repo_id == news.repo_id), None)
    if known is None:
        if news.action == "unarchived" and not parts.repos:
            reconcile(parts, [news.full_name])
        return
    forget(parts, known.repo)
    if news.action in GONE:
        _close(parts, known, f"it was {news.action}")
        return
    if known.repo == news.full_name:
        return
    try:
        open_lane(parts, news.full_name)
    except Missing:
        _close(parts, known, "it went where the bot may not follow")


def _close(parts: Parts, lane: Lane, why: str) -> None:
    log.warning("lane_closed", lane=lane.repo, why=why)
    parts.store.close_lane(lane)
