"""Each guard of the landing, removed: then the simulation has to fail, or it proves nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mergebot.adapters.memory.git import MemoryGit
from mergebot.adapters.memory.store import MemoryStore
from mergebot.domain import landing
from mergebot.domain.landing import Facts
from mergebot.domain.lane import Snapshot
from mergebot.domain.pulls import Permission
from mergebot.domain.receipts import Receipt
from mergebot.ports.git import Push, PushOutcome
from mergebot.services import admitting, integrating, labelling, preparing, tick, trunk
from tests.simulation.people import QUEUE
from tests.simulation.town import live

pytestmark = pytest.mark.slow

SEEDS_MAX = 500


def check_found(promise: str | tuple[str, ...], *acts: str, first: int = 0, **rates: float) -> None:
    """Check that one of the seeds breaks `promise`, with more of `acts` and faults at `rates`.

    The search starts at `first`, shortly before where it ended once, only to be short.
    """
    for seed in range(first, first + SEEDS_MAX):
        broken = live(seed, acts, rates).broken
        if broken:
            assert any(each.startswith(promise) for each in broken), broken
            assert not any("of ours" in each for each in broken), broken
            return
    pytest.fail(f"no seed of {SEEDS_MAX} misses the guard that holds {promise}")


def believing(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any, Facts], Facts]) -> None:
    """Let the landing's guard believe other facts than those that were read.

    The label's setter and the last push are asked of the forge once more, which covers the guard.
    """

    def guard(snapshot: Snapshot, candidate: Any, facts: Facts) -> object:
        return landing.guard(snapshot, candidate, change(candidate, facts))

    monkeypatch.setattr(integrating, "guard", guard)
    monkeypatch.setattr(integrating, "authorised", lambda *args: None)


def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody look at pull requests between their admission and their landing."""
    monkeypatch.setattr(admitting, "watch", lambda *args, **named: None)


def test_without_the_compare_and_swap_of_the_base_the_simulation_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The trunk's tip is read right before the push as well, so both are removed."""
    real = MemoryGit.push_landing

    def forced(self: MemoryGit, push: Push) -> PushOutcome:
        tip = self.remote.head(push.trunk)
        if tip == push.base or tip is None:
            return real(self, push)
        notes = {each.merged: each.receipt.text for each in push.all}
        self.remote.move(self.me, {f"refs/heads/{push.trunk}": push.merged}, notes)
        return PushOutcome.LANDED

    monkeypatch.setattr(MemoryGit, "push_landing", forced)
    believing(
        monkeypatch, lambda candidate, facts: replace(facts, trunk=candidate.state.merge.base)
    )
    check_found("I0", "pushes_green", pause_lease=0.5)


def test_without_the_pin_of_the_head_the_simulation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Covered by the lease on the author's branch and by watching, so both are removed as well."""
    unwatched(monkeypatch)
    believing(
        monkeypatch,
        lambda candidate, facts: replace(
            facts, head=candidate.head, pull=replace(facts.pull, head=candidate.head)
        ),
    )
    monkeypatch.setattr(integrating, "branch_to_move", lambda snapshot, candidate: "")
    check_found("I04", "forces")


def test_without_the_label_the_simulation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Covered by watching, which is removed as well."""
    unwatched(monkeypatch)
    believing(
        monkeypatch,
        lambda candidate, facts: replace(
            facts, pull=replace(facts.pull, labels=(*facts.pull.labels, QUEUE))
        ),
    )
    check_found("I04", "unlabels")


def test_without_the_permission_the_simulation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    believing(monkeypatch, lambda candidate, facts: replace(facts, permission=Permission.ADMIN))
    check_found("I04", "demotes")


def test_without_the_halt_the_simulation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planner looks at it, its checker and the guard look again; all three are removed."""

    def blind(real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda snapshot, *rest: real(snapshot.with_state(halt=None), *rest)

    for module, name in ((tick, "plan"), (tick, "objection"), (integrating, "guard")):
        monkeypatch.setattr(module, name, blind(vars(module)[name]))
    check_found("I10", "halts")


def test_without_the_scope_the_simulation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is checked when a candidate is prepared and again when it lands; both are removed."""
    monkeypatch.setattr(preparing, "scope_of", lambda *args, **named: None)
    monkeypatch.setattr(integrating, "scope_of", lambda *args, **named: None)
    check_found("I05")


def test_without_the_generations_of_the_record_the_simulation_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = MemoryStore.commit

    def commit(self: MemoryStore, snapshot: Snapshot, commit: Any) -> Snapshot:
        present = self.read(snapshot.lane)
        seen = replace(snapshot, revision=present.revision, mark=present.mark)
        return real(self, seen, commit)

    monkeypatch.setattr(MemoryStore, "commit", commit)
    check_found("I", first=100)


def test_without_the_fence_the_simulation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the terminal check of the push: what was settled as not landed lands no more.

    It is seen as a push that the record does not know, or as an end that did not stay.
    """

    def fence(self: MemoryGit, merged: Any, generation: int) -> object:
        text = self.remote.now.notes.get(merged)
        return Receipt(text) if text is not None else None

    monkeypatch.setattr(MemoryGit, "fence", fence)
    check_found(("I07", "I11"), "regrets", first=400, pause_lease=0.7)


def test_without_the_end_of_a_landing_by_its_trunk_alone_the_simulation_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the forge shows of a landing may be its own work, so it may end none."""
    monkeypatch.setattr(admitting, "Landing", type("Nothing", (), {}))
    check_found("I07", "regrets", first=150, pause_lease=0.7)


def test_without_the_note_of_who_asked_before_the_label_the_simulation_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bot's own label then speaks for whatever head is there once its process has died."""
    monkeypatch.setattr(labelling, "asked_for", lambda *args: None)
    monkeypatch.setattr(labelling, "set_by_bot", lambda *args: False)
    check_found("I04", label_crash=0.8)


def test_without_reading_back_the_simulation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A landing that was taken for none is found by its receipt later; that is removed as well."""
    monkeypatch.setattr(trunk, "lost_landings", lambda *args: False)
    monkeypatch.setattr(integrating, "_settle", integrating._did_not_land)
    check_found("I", first=60)
