from dataclasses import replace

from mergebot.domain.candidate import Gating
from mergebot.domain.capacity import Cores, Host
from mergebot.domain.gate import NoVerdict, Passed
from mergebot.domain.ids import Sha
from mergebot.domain.keeping import KeptStep, KeptVerdict
from mergebot.domain.lane import LaneState, Run, RunProgress
from mergebot.ports.store import Commit
from tests.contract.store.conftest import Kit
from tests.contract.store.test_commit import order
from tests.support.sample import FAILED, LANE, MERGE, PASSED, candidate

GREEN = Passed((PASSED,))
SHA = Sha("a" * 40)


def ordered(kit: Kit, run: str = "r1") -> None:
    kit.commit(Commit(LaneState(), (candidate(Gating(MERGE, run, 1.0)),), orders=(order(run),)))


def stop(kit: Kit, run: str = "r1") -> None:
    kit.commit(Commit(LaneState(), stops=(run,)))


def test_a_run_is_taken_once(kit: Kit) -> None:
    ordered(kit)
    taken = Run(order("r1"), RunProgress("w1", started_at=20.0, beat=20.0))
    assert kit.runs.take(LANE, "r1", "w1", 20.0) == taken
    assert kit.runs.get(LANE, "r1") == taken
    assert kit.runs.take(LANE, "r1", "w2", 900.0) is None
    assert kit.runs.take(LANE, "r1", "w1", 900.0) is None


def test_a_run_that_is_gone_stopped_or_ended_is_not_taken(kit: Kit) -> None:
    assert kit.runs.get(LANE, "r1") is None
    assert kit.runs.take(LANE, "r1", "w1", 1.0) is None
    ordered(kit)
    stop(kit)
    assert kit.runs.take(LANE, "r1", "w1", 1.0) is None
    stop(kit, "never ordered")
    assert kit.runs.get(LANE, "never ordered") is None


def test_progress_is_seen_by_the_next_read(kit: Kit) -> None:
    ordered(kit)
    kit.runs.take(LANE, "r1", "w1", 20.0)
    progress = RunProgress("w1", 20.0, 22.0, "test", 21.0, ("build",))
    assert kit.runs.beat(LANE, "r1", progress)
    assert kit.store.read(LANE).runs["r1"].progress == progress


def test_a_run_is_wanted_until_it_is_stopped(kit: Kit) -> None:
    assert not kit.runs.wanted(LANE, "r1")
    ordered(kit)
    assert kit.runs.wanted(LANE, "r1")
    kit.runs.take(LANE, "r1", "w1", 2.0)
    assert kit.runs.wanted(LANE, "r1")
    stop(kit)
    assert not kit.runs.wanted(LANE, "r1")


def test_a_beat_learns_that_nobody_wants_the_run(kit: Kit) -> None:
    ordered(kit)
    mine = RunProgress("w1", beat=3.0)
    assert not kit.runs.beat(LANE, "r1", mine)
    kit.runs.take(LANE, "r1", "w1", 2.0)
    assert kit.runs.beat(LANE, "r1", mine)
    assert not kit.runs.beat(LANE, "r1", replace(mine, worker="w2"))
    stop(kit)
    assert not kit.runs.beat(LANE, "r1", mine)
    assert not kit.runs.beat(LANE, "never ordered", mine)


def test_a_result_is_recorded_once(kit: Kit) -> None:
    ordered(kit)
    assert not kit.runs.finish(LANE, "r1", GREEN, 5.0)
    kit.runs.take(LANE, "r1", "w1", 2.0)
    assert kit.runs.finish(LANE, "r1", GREEN, 60.0)
    assert not kit.runs.finish(LANE, "r1", FAILED, 61.0)
    found = kit.store.read(LANE).runs["r1"]
    assert (found.result, found.ended_at) == (GREEN, 60.0)
    assert not kit.runs.beat(LANE, "r1", RunProgress("w1"))
    assert kit.runs.take(LANE, "r1", "w2", 70.0) is None


def test_a_result_reported_again_after_a_lost_answer_counts_as_recorded(kit: Kit) -> None:
    ordered(kit)
    kit.runs.take(LANE, "r1", "w1", 2.0)
    assert kit.runs.finish(LANE, "r1", GREEN, 60.0)
    assert kit.runs.finish(LANE, "r1", GREEN, 61.0)
    assert kit.runs.usual_seconds(LANE) == {"test": 40.0}


def test_a_stopped_runs_result_is_dropped(kit: Kit) -> None:
    ordered(kit)
    kit.runs.take(LANE, "r1", "w1", 2.0)
    stop(kit)
    assert not kit.runs.finish(LANE, "r1", GREEN, 60.0)
    assert kit.store.read(LANE).runs["r1"].result is None


def test_ordering_a_run_again_keeps_what_is_known_of_it(kit: Kit) -> None:
    ordered(kit)
    kit.runs.take(LANE, "r1", "w1", 2.0)
    ordered(kit)
    found = kit.runs.get(LANE, "r1")
    assert found is not None
    assert found.progress.worker == "w1"


def test_the_usual_time_of_a_step_is_the_median_of_its_last_passes(kit: Kit) -> None:
    for number in range(30):
        ordered(kit, f"r{number}")
        kit.runs.take(LANE, f"r{number}", "w1", 2.0)
        step = replace(PASSED, seconds=float(number))
        kit.runs.finish(LANE, f"r{number}", Passed((step,)), 3.0)
    assert kit.runs.usual_seconds(LANE) == {"test": 19.5}


def test_only_green_steps_count_for_the_usual_time(kit: Kit) -> None:
    for run, result in (("r1", FAILED), ("r2", NoVerdict("the host died"))):
        ordered(kit, run)
        kit.runs.take(LANE, run, "w1", 2.0)
        assert kit.runs.finish(LANE, run, result, 3.0)
    assert kit.runs.usual_seconds(LANE) == {"build": 12.0}


def test_slots_are_those_of_workers_heard_of_lately(kit: Kit) -> None:
    assert kit.runs.workers(0.0) == 0
    kit.runs.announce("w1", 4, 1000.0)
    kit.runs.announce("w2", 2, 1000.0)
    kit.runs.announce("w2", 3, 1040.0)
    assert kit.runs.workers(1045.0) == 7
    assert kit.runs.workers(1046.0) == 3
    assert kit.runs.workers(2000.0) == 0


def test_a_read_counts_the_slots(kit: Kit) -> None:
    kit.runs.announce("w1", 4, kit.store.read(LANE).now)
    assert kit.store.read(LANE).slots == 4


def test_a_read_tells_hosts_by_their_cores_and_what_gates_asked_for(kit: Kit) -> None:
    now = kit.store.read(LANE).now
    hawk, owl = Cores("k1", "hawk", 2.0), Cores("k2", "owl", 8.0)
    for worker, slots, cores in (("w1", 4, hawk), ("w2", 2, hawk), ("w3", 3, owl), ("w4", 0, owl)):
        kit.runs.announce(worker, slots, now, cores)
    kit.runs.announce("w5", 1, now)
    for number in range(12):
        kit.runs.note_use(LANE, hawk, number / 10)
    asks = (1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
    found = kit.store.read(LANE)
    assert found.hosts == (Host("k1", "hawk", 6, 2.0, asks), Host("k2", "owl", 3, 8.0))
    assert found.slots == 10


def test_a_host_that_fell_silent_is_no_host(kit: Kit) -> None:
    kit.runs.announce("w1", 4, kit.store.read(LANE).now - 46.0, Cores("k1", "hawk", 2.0))
    assert kit.store.read(LANE).hosts == ()


def test_a_step_that_was_kept_says_nothing_about_its_time_or_its_risk(kit: Kit) -> None:
    ordered(kit)
    kit.runs.take(LANE, "r1", "w1", 2.0)
    kit.runs.finish(LANE, "r1", Passed((replace(PASSED, seconds=0.0, kept="r0"),)), 3.0)
    assert kit.runs.usual_seconds(LANE) == {}
    assert kit.runs.tallies(LANE) == {}


def test_passes_and_failures_of_steps_are_counted(kit: Kit) -> None:
    for run, result in (("r1", GREEN), ("r2", FAILED), ("r3", FAILED)):
        ordered(kit, run)
        kit.runs.take(LANE, run, "w1", 2.0)
        kit.runs.finish(LANE, run, result, 3.0)
    tallies = kit.runs.tallies(LANE)
    assert tallies[FAILED.step.name].failures == 2
    assert tallies[PASSED.name].passes >= 1


def test_green_results_are_kept_by_name_in_their_own_lane(kit: Kit) -> None:
    verdict = KeptVerdict("tree", "spec", "r1", SHA, "w1", (PASSED,), "seal")
    kit.runs.keep_verdict(LANE, verdict)
    kit.runs.keep_steps(LANE, {"one": KeptStep("r1", SHA, PASSED, "seal")})
    assert kit.runs.kept_verdict(LANE, verdict.name) == verdict
    assert kit.runs.kept_verdict(LANE, "another") is None
    assert kit.runs.kept_steps(LANE, ["one", "two"]) == {"one": KeptStep("r1", SHA, PASSED, "seal")}
    assert kit.runs.kept_steps(LANE, []) == {}
    other = replace(LANE, repo_id=LANE.repo_id + 1)
    assert kit.runs.kept_verdict(other, verdict.name) is None
