import subprocess
from pathlib import Path

from mergebot.cli.agents import HOOK, MARK, _repo_of, pushed_branches
from mergebot.domain.setup import AGENTS_BEGIN, with_agents_section
from tests.support.product import run

ZERO, SHA = "0" * 40, "a" * 40


def test_the_section_is_written_once_and_replaced_in_place() -> None:
    first = with_agents_section("# Rules\n\nBe kind.\n")
    assert first.startswith("# Rules\n\nBe kind.\n\n" + AGENTS_BEGIN)
    assert with_agents_section(first) == first
    older = first.replace("Take a task", "Pick a task") + "\nMore.\n"
    assert with_agents_section(older) == first + "\nMore.\n"
    assert with_agents_section("").startswith(AGENTS_BEGIN)


def test_init_agents_writes_both_files_and_the_hook_and_changes_nothing_twice(
    tmp_path: Path,
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "CLAUDE.md").write_text("Hello.\n")
    first = run("init", "--agents", "--directory", str(tmp_path))
    assert (first.code, first.err) == (0, "")
    told = (tmp_path / "AGENTS.md").read_text(), (tmp_path / "CLAUDE.md").read_text()
    assert told[1].startswith("Hello.\n\n" + told[0])
    hook = tmp_path / ".git/hooks/pre-push"
    assert (hook.read_text(), hook.stat().st_mode & 0o111) == (HOOK, 0o111)
    again = run("init", "--agents", "--directory", str(tmp_path))
    assert "Unchanged: AGENTS.md." in again.out
    assert (tmp_path / "CLAUDE.md").read_text() == told[1]


def test_a_hook_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    hook = tmp_path / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    done = run("init", "--agents", "--directory", str(tmp_path))
    assert (done.code, "is there already" in done.err, MARK in hook.read_text()) == (0, True, False)


def test_what_git_pushes_is_read_by_branch_without_deletions_and_tags() -> None:
    lines = [
        f"refs/heads/a {SHA} refs/heads/b {ZERO}\n",
        f"(delete) {ZERO} refs/heads/c {SHA}\n",
        f"refs/tags/v1 {SHA} refs/tags/v1 {ZERO}\n",
        f"refs/heads/d {SHA} refs/for/main {ZERO}\n",
    ]
    assert list(pushed_branches(lines)) == [("b", SHA), ("d", SHA)]


def test_the_repository_is_read_from_any_address_of_a_remote() -> None:
    for url in ("https://h/o/r.git", "git@h:o/r.git", "ssh://git@h:22/o/r", "http://h:1/o/r/"):
        assert _repo_of(url) == "o/r"
