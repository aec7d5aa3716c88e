from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from mergebot.domain.candidate import Landed, Verified
from mergebot.domain.gate import Failed, GateSpec, Passed, StepResult, Verdict
from mergebot.domain.ids import Sha
from mergebot.domain.keeping import (
    KeptStep,
    KeptVerdict,
    kept_of,
    may_keep,
    step_name,
    verdict_text,
)
from mergebot.domain.landing import remade
from mergebot.domain.lane import Green
from mergebot.ports.signing import KEPT
from mergebot.services.vouching import vouched
from tests.support.builders import LANE, PASS, TIP, merge, sha, verdict
from tests.support.gitrepo import Repo
from tests.support.village import ALICE, Village
from tests.support.village import LANE as VILLAGE
from tests.unit.test_gatekeeper import Host, step

SOURCES = ("src/**",)


class Marks:
    """Seals that depend on what they are for and over."""

    def seal(self, purpose: str, text: str) -> str:
        return f"{purpose}:{hash(text)}"

    def sealed(self, purpose: str, text: str, seal: str) -> bool:
        return seal == self.seal(purpose, text)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    repo = Repo.init(tmp_path / "repo")
    repo.commit("initial", {"src/a": "1\n", "docs": "1\n"})
    return Host(tmp_path, repo)


def steps_of(result: object) -> list[tuple[str, str]]:
    assert isinstance(result, Passed)
    return [(each.name, each.kept) for each in result.steps]


def test_a_step_whose_inputs_did_not_change_is_kept(host: Host) -> None:
    gate = GateSpec((step("cat src/a", inputs=SOURCES), step("cat docs", "docs")), 60.0)
    assert steps_of(host.result_of(gate)) == [("test", ""), ("docs", "")]
    host.commits({"docs": "2\n"})
    result = host.result_of(gate)
    assert steps_of(result) == [("test", "run1"), ("docs", "")]
    assert isinstance(result, Passed)
    assert result.steps[0].seconds == 0.0
    assert "[mergebot] test: kept, its inputs passed in run run1" in host.log()


def test_a_step_whose_inputs_changed_runs(host: Host) -> None:
    gate = GateSpec((step("cat src/a", inputs=SOURCES),), 60.0)
    host.result_of(gate)
    host.commits({"src/a": "2\n"})
    assert steps_of(host.result_of(gate)) == [("test", "")]


def test_what_passed_with_a_change_that_is_not_part_of_this_one_is_not_kept(host: Host) -> None:
    gate = GateSpec((step("sh check", inputs=SOURCES),), 60.0)
    before = host.commits({"check": "exit 1\n"})
    host.commits({"check": "exit 0\n"})
    host.result_of(gate)
    host.repo.git("update-ref", "refs/heads/main", before)
    assert isinstance(host.result_of(gate), Failed)


def test_a_step_in_other_surroundings_runs(host: Host) -> None:
    gate = GateSpec((step("cat src/a", inputs=SOURCES),), 60.0)
    host.result_of(gate)
    assert steps_of(host.result_of(replace(gate, environment=("A=1",)))) == [("test", "")]


def test_nothing_is_kept_of_a_gate_with_network(host: Host) -> None:
    gate = GateSpec((step("cat src/a", inputs=SOURCES),), 60.0, network=True)
    host.result_of(gate)
    assert steps_of(host.result_of(gate)) == [("test", "")]


PINNED = f"acme/gate@sha256:{'0a' * 32}"


def test_another_image_asks_another_question() -> None:
    gate = GateSpec((step("cat src/a", inputs=SOURCES),), 60.0)
    other = replace(gate, image=PINNED)
    assert replace(other, image="").digest == gate.digest
    assert other.digest != gate.digest
    assert step_name(gate, gate.steps[0], (), "") != step_name(other, gate.steps[0], (), "")


def test_what_ran_in_an_image_whose_name_may_move_is_not_kept() -> None:
    images = ("", PINNED, PINNED.partition("@")[2], "acme/gate:1", "acme/gate")
    kept = [each for each in images if may_keep(GateSpec((step("true"),), 60.0, image=each))]
    assert kept == list(images[:3])


def test_nothing_is_kept_of_a_red_run(host: Host) -> None:
    gate = GateSpec((step("cat src/a", inputs=SOURCES), step("exit 1", "red")), 60.0)
    assert isinstance(host.result_of(gate), Failed)
    green = replace(gate, steps=gate.steps[:1])
    assert steps_of(host.result_of(green)) == [("test", "")]


def test_a_red_step_that_missed_what_a_kept_one_leaves_runs_again_after_it(host: Host) -> None:
    gate = GateSpec((step("touch built", "build", inputs=SOURCES), step("test -e built")), 60.0)
    host.result_of(gate)
    host.commits({"docs": "3\n"})
    assert steps_of(host.result_of(gate)) == [("build", ""), ("test", "")]
    assert "once more, after build, which was kept and not run" in host.log()


def test_a_result_that_nobody_sealed_is_not_kept(host: Host) -> None:
    gate = GateSpec((step("cat src/a", inputs=SOURCES),), 60.0)
    host.result_of(gate)
    for key, found in list(host.runs._steps.items()):
        host.runs._steps[key] = replace(found, seal="forged")
    assert steps_of(host.result_of(gate)) == [("test", "")]


def test_independent_steps_run_at_once_and_their_lines_carry_their_names(host: Host) -> None:
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.05; done; echo met"
    result = host.result(
        step(meet.format("a", "b"), "one"),
        step(meet.format("b", "a"), "two"),
        step("test -e a -a -e b", "three", needs=("one", "two")),
    )
    assert steps_of(result) == [("one", ""), ("two", ""), ("three", "")]
    assert "one | met\n" in host.log()
    assert "two | met\n" in host.log()


def test_a_red_step_stops_those_beside_it_at_once(host: Host) -> None:
    gate = GateSpec(
        (step("sleep 60", "long", timeout_s=90.0), step("exit 3", "red"), step("true", "end")), 90.0
    )
    needs = (*gate.steps[:2], replace(gate.steps[2], needs=("long",)))
    results: list[object] = []
    thread = Thread(target=lambda: results.append(host.result_of(replace(gate, steps=needs))))
    thread.start()
    thread.join(20)
    (result,) = results
    assert isinstance(result, Failed)
    assert [(each.name, each.exit_code) for each in result.steps] == [("red", 3)]


def test_a_green_run_keeps_the_verdict_of_its_tree(host: Host) -> None:
    gate = GateSpec((step("true"),), 60.0)
    host.result_of(gate)
    tree = host.git.tree(host.repo.sha("main"))
    (kept,) = host.runs._verdicts.values()
    assert (kept.tree, kept.spec, kept.run) == (tree, gate.digest, "run1")


KEPT_RUN = KeptVerdict("tree-m1", "spec", "run1", sha("before"), "w1", (PASS,))


def by(kept: KeptVerdict) -> Verdict:
    return replace(
        verdict(1, TIP), spec=kept.spec, run=kept.run, tested=kept.tested, seal=kept.seal
    )


def test_a_kept_verdict_is_vouched_for_by_its_own_seal_alone() -> None:
    seals = Marks()
    sealed = replace(KEPT_RUN, seal=seals.seal(KEPT, verdict_text(LANE, KEPT_RUN)))
    assert vouched(seals, LANE, by(sealed))
    assert kept_of(by(sealed)) == sealed
    assert not vouched(seals, LANE, replace(by(sealed), tree="another"))
    assert not vouched(seals, LANE, replace(by(sealed), spec="another"))
    assert not vouched(seals, LANE, by(KEPT_RUN))


def test_a_verdict_for_another_tree_than_the_one_made_again_lands_nothing() -> None:
    made = merge(TIP, "m1")
    state = Verified(made, verdict(1, TIP))
    assert remade(state, made)
    assert not remade(state, replace(made, tree="other"))
    assert not remade(state, replace(made, merged=sha("other")))


def village_with(seal: str) -> tuple[Village, int, list[int]]:
    ran: list[int] = []

    def works(tree: Mapping[str, str]) -> bool:
        ran.append(len(tree))
        return True

    village = Village(works=works)
    pr = village.propose({"src/a": "1"})
    head = village.hosting.pulls[pr].head
    policy = village.store.read(VILLAGE).policy
    assert policy is not None
    step = StepResult("test", "test", 0, 1.0, "log")
    kept = KeptVerdict(
        tree_of(village, head), policy.gate.digest, "old", Sha("a" * 40), "w", (step,), seal
    )
    village.runs.keep_verdict(VILLAGE, kept)
    ran.clear()
    return village, pr, ran


def tree_of(village: Village, commit: Sha) -> str:
    return village.parts.mirrors.of(village.hosting.repository).tree(commit)


def test_a_tree_that_was_green_before_lands_without_a_gate() -> None:
    village, pr, ran = village_with("")
    landed = village.label(pr, ALICE)
    assert isinstance(landed.state, Landed)
    assert ran == []
    (receipt,) = village.store.landings(VILLAGE, limit=1)
    gate = receipt.fields["gate"]
    assert isinstance(gate, dict)
    assert (gate["run"], gate["tested"]) == ("old", "a" * 40)


def test_a_kept_verdict_that_nobody_sealed_lands_nothing() -> None:
    village, pr, ran = village_with("forged")
    assert isinstance(village.label(pr, ALICE).state, Landed)
    assert len(ran) == 1


def pushed_past_the_queue(seal: str, rules: str | None = None) -> tuple[Village, list[int]]:
    """Return a village where somebody pushed, to the trunk, a tree that was green before."""
    village, pr, ran = village_with(seal)
    head = village.hosting.pulls[pr].head
    files = dict(village.remote.objects.commit(head).tree)
    if rules is not None:
        files[".mergebot.toml"] = rules
    village.remote.push(ALICE, "main", village.remote.commit(files, "Direct", village.tip))
    village.reconcile()
    return village, ran


def test_a_direct_push_of_a_tree_that_was_green_before_needs_no_gate() -> None:
    village, ran = pushed_past_the_queue("")
    snapshot = village.store.read(VILLAGE)
    assert snapshot.state.health == Green(village.tip, village.clock.now())
    assert village.tip in snapshot.state.greens
    assert ran == []
    story = [each.text for each in village.store.story(VILLAGE, 0, limit=20)]
    assert any("its tree was green before as aaaaaaa, no gate is needed" in text for text in story)


@pytest.mark.parametrize(
    ("seal", "rules"),
    [("forged", None), ("", '[[gate.steps]]\nname = "test"\nrun = "another test"\n')],
)
def test_a_direct_push_is_gated_where_the_seal_or_the_gate_is_another(
    seal: str, rules: str | None
) -> None:
    village, ran = pushed_past_the_queue(seal, rules)
    assert len(ran) == 1
    assert isinstance(village.store.read(VILLAGE).state.health, Green)


def test_a_kept_step_counts_for_no_time() -> None:
    assert KeptStep("run1", TIP, PASS).reused == replace(PASS, seconds=0.0, kept="run1")
