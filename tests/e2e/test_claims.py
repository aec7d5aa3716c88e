"""Claims in the running product: blocks, the command line, hosts, the audit, contracts."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import RULES, Stack, run

pytestmark = pytest.mark.slow

NAMES = ("claiming", "auditing", "agreeing")
CONTRACT = '\n[contracts.readiness]\npaths = ["status.txt"]\nowners = ["@ada"]\n'
HELD = "echo held; ! { [ -e publish.txt ] && grep -q checked status.txt; }\n"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("claims")
    with ForgeProcess(root / "forge") as forge, Stack(root / "home", forge, NAMES) as running:
        yield running


def board(stack: Stack, name: str) -> dict[str, dict[str, object]]:
    found = stack.get(name, "/claims")
    return {str(each["task"]): each for each in found["claims"]}


def test_a_claim_lives_from_the_opened_pull_request_to_its_receipt(stack: Stack) -> None:
    project = stack.project("claiming")
    first = project.propose("First", {"src/a": "a\n"}, claims="src/**", label="")
    claim = stack.until(lambda: board(stack, "claiming").get("First"), "the claim of the block")
    second = project.propose("Second", {"src/b": "b\n", "docs/x": "x\n"}, claims="src/b", label="")
    stack.until(lambda: project.comments(second), "an early warning")
    (warning,) = project.comments(second)
    assert "@mergebot claim docs/x" in warning
    assert "Its claim overlaps others" in warning
    project.label(second)
    assert project.becomes(second, "ejected")["reason"] == "claim_overlap"
    project.label(first)
    landed = project.becomes(first, "landed")
    stack.until(lambda: "First" not in board(stack, "claiming"), "the claim to end")
    ended = stack.get("claiming", f"/claims/{claim['id']}")
    assert ended["how"] == "landed"
    receipts = stack.get("claiming", "/landings")["landings"]
    receipt = next(each for each in receipts if each["pr"] == first)
    assert receipt["claim"] == {"id": claim["id"], "generation": claim["generation"]}
    assert receipt["digest"] in ended["evidence"]
    assert landed["claimed"] == ["src/**"]


def test_the_command_line_claims_parks_and_releases(stack: Stack) -> None:
    repo = ("--repo", "ada/claiming")
    made = stack.cli(
        "claim", "add", "tools/**", "--task", "T-9", "--owner", "agent", *repo, "--json"
    )
    assert made.code == 0, made.err
    claim = json.loads(made.out)
    lost = stack.cli("claim", "add", "tools/x", "--task", "T-10", *repo)
    assert (lost.code, "agent has tools/** for T-9, claimed " in lost.err) == (1, True)
    assert stack.cli("claim", "park", claim["id"], "--reason", "waits", *repo).code == 0
    shown = stack.cli("claim", "list", *repo)
    assert "parked" in shown.out
    cost = stack.cli("claim", "report-cost", claim["id"], "2.5", "--reference", "run-1", *repo)
    assert (cost.code, "2.5 USD for T-9: counted" in cost.out) == (0, True)
    again = stack.cli("claim", "report-cost", claim["id"], "2.5", "--reference", "run-1", *repo)
    assert (again.code, "not counted again" in again.out) == (0, True)
    wrong = stack.cli("claim", "report-cost", claim["id"], "nan", *repo)
    assert (wrong.code, len(wrong.err.splitlines())) == (1, 1)
    assert "counts only what agents reported: 1 of" in stack.cli("claim", "list", *repo).out
    fenced = stack.cli("claim", "reclaim", claim["id"], "--generation", "1", *repo)
    assert (fenced.code, "is at generation" in fenced.err) == (1, True)
    assert stack.cli("claim", "unpark", claim["id"], *repo).code == 0
    released = stack.cli("claim", "release", claim["id"], *repo)
    assert (released.code, "ended" in released.out) == (0, True)
    assert not (stack.home / "claims" / f"{claim['id']}.json").exists()


def test_the_audit_frees_what_agrees_and_flags_what_one_machine_has(
    stack: Stack, tmp_path: Path
) -> None:
    project = stack.project("auditing")
    repo = ("--repo", "ada/auditing")
    issues = [project.as_("bob", "POST", "/issues", {"title": f"T{n}"})["number"] for n in range(3)]
    project.work.start("kept-here")
    project.work.commit("Only here", {"local.txt": "1\n"})
    branches = ("never-pushed", "kept-here", "still-open")
    ids = [
        json.loads(
            stack.cli("claim", "add", f"cell{n}/**", "--task", f"#{issue}", "--branch", branch,
                      *repo, "--json").out
        )["id"]
        for n, (issue, branch) in enumerate(zip(issues, branches, strict=True))
    ]  # fmt: skip
    for issue in issues[:2]:
        project.as_("bob", "PATCH", f"/issues/{issue}", {"state": "closed"})
    (project.work.path / "claims.md").write_text("task | owner | time\n")
    reported = run(
        "claim", "report-worktrees", "--host", "hawk", *repo,
        cwd=project.work.path, settings=stack.environment,
    )  # fmt: skip
    assert (reported.code, "is no ledger" in reported.err) == (0, True)
    audit = json.loads(stack.cli("claim", "audit", "--json", *repo).out)
    assert (audit["freed"], audit["flagged"]) == ([ids[0]], [ids[1]])
    assert sorted(audit["kept"]) == sorted(ids[1:])
    assert "unpushed commits up to" in next(
        each["because"] for each in audit["items"] if each["id"] == ids[1]
    )
    decided = stack.cli("claim", "decide", ids[1], "abandon", "--reason", "superseded", *repo)
    assert decided.code == 0, decided.err
    again = stack.cli("claim", "audit", *repo)
    assert "freed" in again.out
    assert "usable capacity:" in again.out
    assert project.work.git("rev-parse", "kept-here").code == 0


def test_a_contract_that_moved_waits_for_its_owner_and_the_gate_decides(stack: Stack) -> None:
    project = stack.project("agreeing")
    files = {".mergebot.toml": RULES + CONTRACT, "status.txt": "written\n", "checks/held": HELD}
    project.push_to_trunk("Promise something", files)
    stack.until(
        lambda: stack.get("agreeing", "/queue")["trunk"]["health"] == "green", "a green tip"
    )
    consumer = project.propose("Consume", {"publish.txt": "when complete\n"}, label="")
    producer = project.propose("Produce", {"status.txt": "checked\n"}, label="")
    project.label(producer)
    project.becomes(producer, "parked")
    project.as_(
        "ada", "POST", f"/issues/{producer}/comments", {"body": "@mergebot agree readiness"}
    )
    project.becomes(producer, "landed")
    project.label(consumer)
    waits = project.becomes(consumer, "parked")
    assert waits["reason"] == "stale_contract"
    assert "@ada" in waits["text"]
    answer = {"body": "@mergebot revalidate readiness"}
    project.as_("ada", "POST", f"/issues/{consumer}/comments", answer)
    ended = project.becomes(consumer, "ejected")
    assert (ended["reason"], ended["step"]) == ("gate_failed", "test")
