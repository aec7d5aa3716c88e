"""An agent's tools over MCP, on stdin and stdout, against the running product."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.support.forge import ForgeProcess
from tests.support.product import COMMAND, RULES, Project, Stack, clean_environment, run

pytestmark = pytest.mark.slow

FLEET = '\n[fleet]\nbacklog_label = "agents"\n'
ISSUE = '```mergebot\nclaims = ["src/**"]\n```\n'


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("mcp")
    with ForgeProcess(root / "forge") as forge, Stack(root / "home", forge, ("tooled",)) as running:
        yield running


@pytest.fixture(scope="module")
def project(stack: Stack) -> Project:
    found = stack.project("tooled")
    found.push_to_trunk("Name a backlog", {".mergebot.toml": RULES + FLEET})
    stack.until(lambda: found.trunk()[0] == "Name a backlog", "the push")
    stack.until(lambda: stack.health("tooled") == "green", "a green tip")
    return found


def agent(project: Project) -> StdioServerParameters:
    """Return bob's agent: it has his token of the forge, and a home of its own."""
    stack = project.stack
    settings = {
        "MERGEBOT_HOME": str(stack.home.parent / "agent"),
        "MERGEBOT_PUBLIC_URL": stack.url,
        "MERGEBOT_AGENT_TOKEN": stack.forge.user("bob"),
    }
    return StdioServerParameters(
        command=str(COMMAND),
        args=["mcp", "--repo", "ada/tooled", "--directory", str(project.work.path)],
        env=clean_environment() | settings,
    )


def push(project: Project, branch: str) -> subprocess.CompletedProcess[str]:
    """Push as somebody in whose clone the hook runs."""
    environment = agent(project).env or {}
    path = f"{COMMAND.parent}:{environment['PATH']}"
    return subprocess.run(
        ["git", "push", "-q", "-f", "origin", f"HEAD:{branch}"],
        cwd=project.work.path, env=environment | {"PATH": path},
        capture_output=True, check=False, text=True, timeout=60,
    )  # fmt: skip


def ask(project: Project, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Call tools in one session; a refusal is its sentence, everything else what was returned."""

    async def session() -> list[Any]:
        async with Client(agent(project)) as client:
            return [_said(await client.call_tool(name, given)) for name, given in calls]

    return anyio.run(session)


def _said(result: Any) -> Any:
    text = result.content[0].text
    return text if result.is_error else json.loads(text)


def test_the_tools_of_an_agent_are_described(project: Project) -> None:
    async def session() -> dict[str, str]:
        async with Client(agent(project)) as client:
            return {each.name: each.description or "" for each in (await client.list_tools()).tools}

    tools = anyio.run(session)
    wanted = {"next", "claim", "extend", "release", "park", "check_diff", "enqueue", "status"}
    assert set(tools) == wanted | {"explain", "wait", "report_cost"}
    assert all(len(text) > 40 for text in tools.values())


def test_an_agent_takes_a_task_checks_its_diff_and_lands_it(project: Project) -> None:
    asked = {"title": "Write a", "labels": ["agents"], "body": ISSUE}
    issue = project.as_("ada", "POST", "/issues", asked)["number"]
    (task,) = ask(project, ("next", {}))
    assert (task["task"], task["owner"], task["claims"]) == (f"#{issue}", "bob", ["src/**"])
    assert "token" not in task
    project.work.start(task["branch"])
    project.work.commit("Write a", {"src/a": "a\n", "stray.txt": "x\n"})
    strayed, extended, inside = ask(
        project,
        ("check_diff", {}),
        ("extend", {"claim_id": task["id"], "claims": ["stray.txt"]}),
        ("check_diff", {"claim_id": task["id"]}),
    )
    assert (strayed["inside"], strayed["strayed"]) == (False, ["stray.txt"])
    assert extended["claims"] == ["src/**", "stray.txt"]
    assert (inside["inside"], inside["paths"]) == (True, ["src/a", "stray.txt"])
    project.work.push("-q", "-f", f"HEAD:{task['branch']}")
    block = f'```mergebot\ntask = "#{issue}"\nclaims = ["src/**", "stray.txt"]\n```\n'
    pull = {"title": "Write a", "head": task["branch"], "base": "main", "body": block}
    pr = project.as_("bob", "POST", "/pulls", pull)["number"]
    _, ended, status, nothing = ask(
        project,
        ("enqueue", {"pr": pr}),
        ("wait", {"pr": pr, "timeout_s": 30}),
        ("status", {}),
        ("next", {}),
    )
    assert (ended["ended"], ended["state"]) == (True, "landed")
    assert (status["trunk"]["branch"], status["queue"]) == ("main", [])
    assert "no open issue" in nothing


def test_an_agent_learns_why_it_was_sent_back_and_whether_it_may_try_again(
    project: Project,
) -> None:
    pr = project.propose("Break", {"checks/broken": "echo E wrong >&2; exit 1\n"}, label="")
    never, _, ended, why = ask(
        project,
        ("explain", {"pr": pr}),
        ("enqueue", {"pr": pr}),
        ("wait", {"pr": pr, "timeout_s": 30}),
        ("explain", {"pr": pr}),
    )
    assert "was never queued here" in never
    assert (ended["state"], ended["reason"]) == ("ejected", "gate_failed")
    assert (why["may_requeue"], why["next_action"]) == (True, "push a fix, then label again")
    assert (why["step"], why["exit_code"], "E wrong" in why["tail"]) == ("test", 1, True)
    (told,) = [each for each in project.comments(pr) if '"state":"ejected"' in each]
    hidden = json.loads(told.split("mergebot:v1 ", 1)[1].split(" -->", 1)[0])
    assert {key: why[key] for key in hidden} == hidden


def test_an_agent_claims_parks_and_releases_and_is_told_who_holds_what(project: Project) -> None:
    (held,) = ask(project, ("claim", {"task": "T-1", "claims": ["docs/**"], "branch": "t-1"}))
    refused, told, again, parked, released = ask(
        project,
        ("claim", {"task": "T-2", "claims": ["docs/x"]}),
        ("report_cost", {"claim_id": held["id"], "amount": 1.5, "reference": "run-1"}),
        ("report_cost", {"claim_id": held["id"], "amount": 1.5, "reference": "run-1"}),
        ("park", {"claim_id": held["id"], "reason": "waits for a word"}),
        ("release", {"claim_id": held["id"]}),
    )
    assert "bob has docs/** for T-1" in refused
    assert (told["counted"], again["counted"], again["fleet"]["amount"]) == (True, False, 1.5)
    assert (parked["state"], released["state"]) == ("parked", "ended")


def test_the_hook_refuses_a_push_outside_the_claim_and_lets_one_inside_through(
    project: Project,
) -> None:
    assert run("init", "--agents", "--directory", str(project.work.path)).code == 0
    (project.work.path / "AGENTS.md").unlink()
    (held,) = ask(project, ("claim", {"task": "T-3", "claims": ["web/**"], "branch": "t-3"}))
    project.work.start("t-3")
    project.work.commit("Stray", {"web/a": "a\n", "else.txt": "x\n"})
    refused = push(project, "t-3")
    assert (refused.returncode, "t-3: " in refused.stderr) == (1, True)
    assert "This push leaves its claim" in refused.stderr
    ask(project, ("extend", {"claim_id": held["id"], "claims": ["else.txt"]}))
    inside = push(project, "t-3")
    assert (inside.returncode, "claim" in inside.stderr) == (0, False), inside.stderr
