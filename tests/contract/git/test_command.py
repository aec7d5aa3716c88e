import os
import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mergebot.adapters.git import process
from mergebot.adapters.git.command import TRANSPORT_VARIABLES, GitDir, environment
from mergebot.adapters.git.credential import Credential, origin_of
from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.adapters.git.process import Job, Limits, perform
from mergebot.adapters.git.refs import branch_ref
from mergebot.adapters.git.remote import Remote
from mergebot.ports.errors import Refused, Unavailable
from tests.contract.git.scenes import TOKEN, landable, landing, mirror_of, proposed
from tests.support.gitrepo import Repo
from tests.support.waiting import eventually


def test_the_hosts_environment_and_configuration_reach_nothing(
    remote: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = tmp_path / "ran"
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[core]\n\tsshCommand = touch {canary}\n[alias]\n\tx = y\n")
    poison = {
        "HOME": str(home),
        "GIT_DIR": str(tmp_path / "wrong"),
        "GIT_SSH_COMMAND": f"touch {canary}",
        "GIT_EXTERNAL_DIFF": f"touch {canary}",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.pager",
        "GIT_CONFIG_VALUE_0": f"touch {canary}",
        "GIT_TRACE": str(tmp_path / "trace"),
        "MERGEBOT_GITHUB_TOKEN": TOKEN,
    }
    for name, value in poison.items():
        monkeypatch.setenv(name, value)
    assert not set(poison) - {"HOME"} & set(environment())
    head = proposed(remote, {"n": "1\n"})
    git = mirror_of(remote.url, tmp_path / "m")
    result = landable(git)
    git.push_landing(landing(result, head))
    assert "n" in git.patch(result.merge.base, result.merge.merged)
    assert not canary.exists()
    assert not (tmp_path / "trace").exists()


TOLD_EVERY_TIME = {
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null"),
    *("core.untrackedCache=false", "core.autocrlf=false", "protocol.allow=never", "gc.auto=0"),
    *("maintenance.auto=false", "submodule.recurse=false", "credential.helper="),
    *("transfer.fsckObjects=true", "merge.directoryRenames=conflict", "rerere.enabled=false"),
    *("commit.gpgSign=false", "push.gpgSign=false"),
}
SEEN_EVERY_TIME = {
    *("HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"),
    *("GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0"),
    *("GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "LC_ALL=C.UTF-8"),
}


def test_git_hears_every_time_what_keeps_the_host_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most of it guards against what no host of the tests has, such as its own /etc/gitconfig."""
    fake = tmp_path / "git"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nenv\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    here = GitDir(tmp_path).ask("rev-parse")
    there = Remote(GitDir(tmp_path), "file:///x", lambda: "", ()).ask("ls-remote")
    assert set(here.lines) >= TOLD_EVERY_TIME | SEEN_EVERY_TIME
    assert set(there.lines) >= TOLD_EVERY_TIME | SEEN_EVERY_TIME
    names = {name for line in there.lines if (name := line.partition("=")[0]).isupper()}
    own = {line.partition("=")[0] for line in SEEN_EVERY_TIME} | {"PATH", "PWD", "OLDPWD"}
    assert names <= own | set(TRANSPORT_VARIABLES)


def test_a_hook_in_the_mirror_itself_is_never_run(remote: Repo, tmp_path: Path) -> None:
    head = proposed(remote, {"n": "1\n"})
    git = mirror_of(remote.url, tmp_path / "m")
    hooks = git.local.path / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "pre-push", "post-checkout", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (hooks / name).chmod(0o755)
    git.push_landing(landing(landable(git), head))
    assert remote.log()[0] == "feature 1"
    assert not (tmp_path / "ran").exists()


def test_a_program_that_takes_too_much_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MEMORY_BYTES_MAX", 256 * 1024**2)
    bounded = "getrlimit(RLIMIT_DATA)[0] != RLIM_INFINITY"
    code = f"from resource import *\nwhile not {bounded}: pass\nbytearray(600 << 20)"
    answer = perform(Job((sys.executable, "-c", code), environment()))
    assert answer.code
    assert "MemoryError" in answer.err


def test_a_program_out_of_time_is_killed_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "child"
    script = f"sleep 60 & echo $! > {note}; wait"
    start = monotonic()
    with pytest.raises(Unavailable):
        perform(Job(("sh", "-c", script), environment(), limits=Limits(0.3)))
    assert monotonic() - start < 10
    child = Path("/proc") / note.read_text().strip() / "cmdline"
    eventually(lambda: not child.exists() or not child.read_bytes(), within_s=5, what="child gone")


def test_a_program_that_prints_too_much_is_cut() -> None:
    answer = perform(Job(("yes",), environment(), limits=Limits(20.0, 1000)))
    assert answer.cut
    assert len(answer.out) == 1000


def test_input_of_any_size_reaches_a_program() -> None:
    content = b"x" * 3_000_000
    assert perform(Job(("cat",), environment(), stdin=content)).out == content


def test_a_credential_says_nothing_of_itself() -> None:
    credential = Credential("http://h", TOKEN)
    said = credential.redact(f"{credential!r} {TOKEN} http://me:secret@h/x {credential._basic}")
    assert TOKEN not in said
    assert "secret" not in said
    assert credential._basic not in said


@pytest.mark.parametrize("url", ["http://a b/x", 'http://h"/x', "https://h\\x/y", "https://[::1/x"])
def test_a_host_that_could_end_a_setting_is_refused(url: str) -> None:
    with pytest.raises(Refused):
        origin_of(url)


def test_an_origin_has_no_user_and_no_path() -> None:
    assert origin_of("https://me:pw@forge.example:8443/o/r.git") == "https://forge.example:8443"
    assert origin_of("http://[::1]:80/o/r.git") == "http://[::1]:80"


@settings(max_examples=150)
@given(
    st.text(st.sampled_from("ab./@{-~^:*[\\ \t\x7f+é") | st.characters(codec="utf-8"), max_size=7)
)
def test_branch_names_are_taken_or_refused_as_git_does(name: str) -> None:
    if "\0" in name:
        return
    line = ["git", "check-ref-format", f"refs/heads/{name}"]
    allowed = subprocess.run(line, check=False).returncode == 0
    try:
        assert branch_ref(name) == f"refs/heads/{name}"
    except Refused:
        assert not allowed
    else:
        assert allowed


def test_a_mirror_is_asked_for_nothing_over_its_limit(remote: Repo, git: MirrorGit) -> None:
    remote.commit("Big", {"big": "x" * 5000})
    git.fetch("main", [])
    with pytest.raises(Refused):
        git.local.run("cat-file", "blob", f"{remote.sha()}:big", limits=Limits(9.0, 100))
