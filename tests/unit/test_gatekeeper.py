"""A gate from its order to its result, on real git, real processes and memory for the store."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread

import pytest

from mergebot.adapters.caches import DirectoryCaches
from mergebot.adapters.clock import SystemClock
from mergebot.adapters.git.command import GitDir
from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.adapters.git.remote import Remote
from mergebot.adapters.memory.logs import MemoryLogs
from mergebot.adapters.memory.notary import MemoryNotary
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.redact import Redactor
from mergebot.adapters.sandbox.plain import Plain
from mergebot.adapters.workspaces import DirectoryWorkspaces
from mergebot.domain.capacity import Cores
from mergebot.domain.gate import Failed, GateSpec, Lack, NoVerdict, Passed, Step
from mergebot.domain.ids import Sha
from mergebot.domain.lane import RunOrder
from mergebot.domain.reasons import Reason
from mergebot.ports.errors import Unavailable
from mergebot.ports.sandbox import Sandbox, StepEnd, StepOrder
from mergebot.services.gatekeeper import Gatekeeper, Source
from tests.support.builders import LANE, sha
from tests.support.gitrepo import Entry, Repo
from tests.support.waiting import eventually

SECRET = "hunter2-hunter2"
CORES = Cores("k1", "hawk", 2.0)


@dataclass
class Host:
    """One worker host with a repository whose trunk holds one commit."""

    home: Path
    repo: Repo
    runs: MemoryRuns = field(default_factory=MemoryRuns)
    logs: MemoryLogs = field(default_factory=MemoryLogs)
    asked: int = 0
    sandbox: Sandbox = field(default_factory=Plain)

    @property
    def keeper(self) -> Gatekeeper:
        redactor = Redactor()
        redactor.add(SECRET)
        return Gatekeeper(
            runs=self.runs,
            logs=self.logs,
            sandbox=self.sandbox,
            workspaces=DirectoryWorkspaces(self.home / "gates"),
            caches=DirectoryCaches(self.home / "caches"),
            clock=SystemClock(),
            redaction=redactor,
            seals=MemoryNotary(),
            worker="w1",
            cores=CORES,
        )

    @property
    def git(self) -> MirrorGit:
        return MirrorGit(Remote(GitDir(self.repo.path), self.repo.url, lambda: "", ("file",)))

    def order(self, spec: GateSpec, merged: Sha | None = None) -> str:
        self.asked += 1
        run, tip = f"run{self.asked}", self.repo.sha("main")
        order = RunOrder(run, 1, tip, tip, merged or tip, spec, 0.0, 1)
        self.runs.order(LANE, order)
        return run

    def gate(self, run: str, rebuild: Callable[[RunOrder], Sha] | None = None) -> bool:
        def no_rebuild(order: RunOrder) -> Sha:
            raise Unavailable(f"{order.merged} is not to be had")

        source = Source(self.git, rebuild or no_rebuild, self.repo.sha("main"))
        return self.keeper.gate(LANE, run, source)

    def result(self, *steps: Step, **spec: object) -> object:
        return self.result_of(replace(GateSpec(steps, 60.0), **spec))  # type: ignore[arg-type]  # replace checks names itself

    def result_of(self, spec: GateSpec, merged: Sha | None = None) -> object:
        run = self.order(spec, merged)
        assert self.gate(run), "a result was recorded"
        found = self.runs.get(LANE, run)
        return found.result if found else None

    def log(self) -> str:
        return self.logs.read(LANE, f"run{self.asked}")[0].decode()

    def commits(self, files: Mapping[str, Entry]) -> Sha:
        return self.repo.commit("a change", files)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    repo = Repo.init(tmp_path / "repo")
    repo.commit("initial", {"app.txt": "hello\n", "lock": "1\n"})
    return Host(tmp_path, repo)


def step(run: str, name: str = "test", **facts: object) -> Step:
    return replace(Step(name, run, 20.0), **facts)  # type: ignore[arg-type]  # replace checks names itself


def asks(host: Host) -> tuple[float, ...]:
    host.runs.announce("w1", 1, 0.0, CORES)
    return host.runs.hosts(LANE, 0.0)[0].asks


def test_a_green_gate_tells_what_it_asked_of_the_cores_and_others_do_not(host: Host) -> None:
    host.result(step("exit 1"))
    assert asks(host) == ()
    host.result(step("sleep 0.4"))
    assert [each < 0.5 for each in asks(host)] == [True]


def test_a_gate_passes_when_every_step_does_on_exactly_the_merged_commit(host: Host) -> None:
    result = host.result(step("cat app.txt", "build"), step("git rev-parse HEAD"))
    assert isinstance(result, Passed)
    assert [(each.name, each.exit_code, each.tries) for each in result.steps] == [
        ("build", 0, 1),
        ("test", 0, 1),
    ]
    assert result.steps[0].log == hashlib.sha256(b"hello\n").hexdigest()
    assert host.repo.sha("main") in host.log()
    assert "[mergebot] build: cat app.txt\nhello\n[mergebot] build: exit code 0" in host.log()


def test_the_first_red_step_ends_the_gate_with_its_evidence(host: Host) -> None:
    result = host.result(
        step("echo fine; echo 'src/a.c:3: error: no'; exit 2"), step("touch never", "lint")
    )
    assert isinstance(result, Failed)
    assert (result.reason, result.step.name, result.step.exit_code) == (
        Reason.GATE_FAILED,
        "test",
        2,
    )
    assert "src/a.c:3: error: no" in result.first_error
    assert result.tail.startswith("fine\n")
    assert "lint" not in host.log()


def test_a_pass_after_a_failure_counts_its_tries(host: Host) -> None:
    result = host.result(step("test -e seen || { touch seen; exit 1; }", retry=2))
    assert isinstance(result, Passed)
    assert (result.steps[0].tries, result.steps[0].flaky) == (2, True)


def test_a_step_that_stays_red_is_tried_as_often_as_allowed(host: Host) -> None:
    result = host.result(step("echo try >> tries; wc -l < tries; exit 1", retry=2))
    assert isinstance(result, Failed)
    assert result.step.tries == 3
    assert result.tail.strip() == "3", "the evidence is about the last try"


def test_a_step_over_its_time_is_a_timeout(host: Host) -> None:
    result = host.result(step("echo begun; sleep 60", timeout_s=0.3))
    assert isinstance(result, Failed)
    assert (result.reason, result.step.exit_code) == (Reason.GATE_TIMEOUT, 124)
    assert "still running after 0.3 s" in result.first_error


def test_a_gate_over_its_time_is_a_timeout_of_the_step_it_was_in(host: Host) -> None:
    result = host.result(step("true", "build"), step("sleep 60", retry=5), timeout_s=0.5)
    assert isinstance(result, Failed)
    assert (result.reason, result.step.name, result.step.tries) == (Reason.GATE_TIMEOUT, "test", 1)


def test_a_commit_that_this_host_does_not_hold_is_replayed_here(host: Host) -> None:
    merged = host.commits({"app.txt": "changed\n"})
    absent = sha("absent")
    run = host.order(GateSpec((step("cat app.txt"),), 60.0), absent)
    assert host.gate(run, lambda order: merged)
    found = host.runs.get(LANE, run)
    assert found
    assert isinstance(found.result, NoVerdict)
    assert "computed another commit" in found.result.why
    assert host.logs.read(LANE, run)[0] == b"", "nothing ran"


def test_a_commit_that_cannot_be_had_gives_no_verdict(host: Host) -> None:
    result = host.result_of(GateSpec((step("true"),), 60.0), sha("absent"))
    assert result == NoVerdict(f"{sha('absent')} is not to be had")


def test_a_run_that_somebody_else_took_is_left_alone(host: Host) -> None:
    run = host.order(GateSpec((step("touch ran"),), 60.0))
    host.runs.take(LANE, run, "w2", 1.0)
    assert host.gate(run) is False
    assert not (host.home / "gates").exists()


def test_a_run_that_nobody_wants_any_more_ends_without_a_result(host: Host) -> None:
    run = host.order(GateSpec((step("echo begun; sleep 60"),), 120.0))
    ended: list[bool] = []
    thread = Thread(target=lambda: ended.append(host.gate(run)))
    thread.start()
    eventually(lambda: b"begun" in host.logs.read(LANE, run)[0], within_s=10, what="it runs")
    host.runs.stop(LANE, run)
    thread.join(10)
    assert ended == [False]
    assert list((host.home / "gates").iterdir()) == []


def test_progress_names_the_step_and_those_that_are_done(host: Host) -> None:
    run = host.order(GateSpec((step("true", "build"), step("until [ -e go ]; do :; done")), 60.0))
    thread = Thread(target=host.gate, args=(run,))
    thread.start()

    def progress() -> tuple[str, tuple[str, ...], str]:
        found = host.runs.get(LANE, run)
        assert found
        return found.progress.step, found.progress.steps_done, found.progress.worker

    eventually(lambda: progress() == ("test", ("build",), "w1"), within_s=10, what="it is shown")
    (workspace,) = (host.home / "gates").iterdir()
    (workspace / "go").touch()
    thread.join(10)
    assert not thread.is_alive()


def test_secrets_are_redacted_before_the_digest_the_log_and_the_evidence(host: Host) -> None:
    result = host.result(step(f"printf hunter2; sleep 0.3; echo -hunter2; echo {SECRET}; exit 1"))
    assert isinstance(result, Failed)
    assert SECRET not in host.log() + result.first_error + result.tail
    assert result.step.log == hashlib.sha256(b"[redacted]\n[redacted]\n").hexdigest()


def test_a_candidate_cannot_paint_the_page(host: Host) -> None:
    result = host.result(step("printf '\\033[2Jerror: \\342\\200\\256evil\\n'; exit 1"))
    assert isinstance(result, Failed)
    assert result.first_error == "error: \\u202eevil"


def test_the_workspace_is_gone_after_every_gate(host: Host) -> None:
    host.result(step("mkdir -p a/b; touch a/b/c; chmod 500 a/b a; exit 1"))
    assert list((host.home / "gates").iterdir()) == []


CACHED = GateSpec(
    (step("cat deps/list 2>&1"),), 60.0, setup="mkdir deps; cp lock deps/list", keep=("deps",)
)


def test_setup_runs_once_on_the_trunk_and_candidates_get_what_it_left(host: Host) -> None:
    host.result_of(CACHED)
    assert "[mergebot] setup: mkdir deps" in host.log()
    poisoned = host.repo.commit("x", {"lock": "evil\n"})
    host.repo.git("update-ref", "refs/heads/main", f"{poisoned}^")
    result = host.result_of(CACHED, poisoned)
    assert isinstance(result, Passed)
    assert "setup" not in host.log()
    assert "evil" not in host.log()


def test_an_image_that_this_sandbox_runs_none_of_runs_nothing(host: Host) -> None:
    result = host.result(step("true"), image="acme/gate:1")
    assert isinstance(result, NoVerdict)
    assert result.lack is Lack.SANDBOX
    assert "the rules name the image acme/gate:1" in result.why


def test_setup_and_steps_run_in_the_image_and_another_one_gets_caches_of_its_own(
    host: Host,
) -> None:
    images: list[str] = []

    class AnyImage(Plain):
        """Runs every image as if it were this host."""

        def run(
            self, order: StepOrder, output: Callable[[bytes], None], wanted: Callable[[], bool]
        ) -> StepEnd:
            images.append(order.image)
            return Plain().run(replace(order, image=""), output, wanted)

    in_image = replace(host, sandbox=AnyImage())
    for image in ("acme/gate:1", "acme/gate:1", "acme/gate:2"):
        assert isinstance(in_image.result_of(replace(CACHED, image=image)), Passed)
    assert images == ["acme/gate:1"] * 3 + ["acme/gate:2"] * 2


def test_setup_runs_again_once_the_trunk_changed_and_the_last_two_caches_stay(host: Host) -> None:
    for number in (1, 2, 3):
        host.commits({"lock": f"version {number}\n"})
        host.result_of(CACHED)
        assert f"version {number}" in host.log()
    assert len([each for each in (host.home / "caches" / LANE.key).iterdir() if each.is_dir()]) == 2


def test_a_setup_that_fails_on_the_trunk_blames_nobody(host: Host) -> None:
    result = host.result_of(replace(CACHED, setup="echo 'error: no index'; exit 4"))
    assert isinstance(result, NoVerdict)
    assert result.why.startswith("the gate's setup failed on the trunk: exit code 4")
    assert "error: no index" in result.why
    assert host.result_of(CACHED) != result, "the next gate tries again"


def test_two_gates_at_once_fill_a_cache_once(host: Host) -> None:
    slow = replace(CACHED, setup="echo filling; sleep 0.5; mkdir deps; cp lock deps/list")
    runs = [host.order(slow) for _ in range(3)]
    threads = [Thread(target=host.gate, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    logs = [host.logs.read(LANE, run)[0] for run in runs]
    assert sum(b"\nfilling\n" in log for log in logs) == 1
    results = [found.result for run in runs if (found := host.runs.get(LANE, run))]
    assert [type(result) for result in results] == [Passed] * 3


def test_a_full_disk_is_said_in_one_sentence(host: Host, tmp_path: Path) -> None:
    full = Path("/dev/full")

    class Full(MirrorGit):
        def export(self, sha: Sha, into: str) -> None:
            descriptor = os.open(full, os.O_WRONLY)
            os.write(descriptor, b"x")

    run = host.order(GateSpec((step("true"),), 60.0))
    git = Full(host.git.remote)
    assert host.keeper.gate(LANE, run, Source(git, lambda order: order.merged, sha("tip")))
    found = host.runs.get(LANE, run)
    assert found
    assert found.result == NoVerdict(
        "the disk of the host that runs the gate is full: free some space there"
    )
