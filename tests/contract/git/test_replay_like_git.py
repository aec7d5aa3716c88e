import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.domain.policy import Method
from mergebot.ports.git import Conflicted, EmptyReplay, Replayed
from tests.contract.git.scenes import ask, mirror_of
from tests.support.gitrepo import Repo

# An edit gives one of two files new text for one of four far apart or neighbouring lines, or moves
# the file; small ranges make clashes, twins and no-ops likely.
EDIT = st.tuples(
    st.sampled_from("fg"), st.sampled_from([0, 1, 8, 15]), st.sampled_from(["x", "y", "move"])
)
HISTORY = st.lists(EDIT, min_size=1, max_size=4)
START = {name: [f"{name}{n}" for n in range(16)] for name in "fg"}


def build(
    repo: Repo, trunk: list[tuple[str, int, str]], branch: list[tuple[str, int, str]]
) -> None:
    stream = [commit("main", 0, START, "")]
    for name, edits in (("main", trunk), ("feature", branch)):
        files = START
        for number, edit in enumerate(edits, 1):
            files = edited(files, *edit)
            start = "refs/heads/start" if number == 1 else ""
            stream.append(commit(name, number, files, start))
        if name == "main":
            continue
    text = (
        "".join(stream[:1])
        + "reset refs/heads/start\nfrom refs/heads/main\n\n"
        + "".join(stream[1:])
    )
    repo.git("fast-import", "--quiet", "--date-format=raw", stdin=text.encode())


def edited(files: dict[str, list[str]], name: str, line: int, text: str) -> dict[str, list[str]]:
    moved = name.upper()
    here = name if name in files else moved
    if text == "move":
        there = moved if here == name else name
        return {there if path == here else path: lines for path, lines in files.items()}
    lines = [*files[here]]
    lines[line] = text
    return files | {here: lines}


def commit(name: str, number: int, files: dict[str, list[str]], start: str) -> str:
    body = "".join(f"{line}\n" for path in sorted(files) for line in files[path])
    message = f"{name} {number}"
    out = f"commit refs/heads/{name}\n"
    out += (
        f"author {name} <{name}@x> {1000 + number} +0000\ncommitter C <c@x> {2000 + number} +0000\n"
    )
    out += (
        f"data {len(message)}\n{message}\n" + (f"from {start}\n" if start else "") + "deleteall\n"
    )
    for path, lines in sorted(files.items()):
        body = "".join(f"{line}\n" for line in lines)
        out += f"M 100644 inline {path}\ndata {len(body)}\n{body}\n"
    return out


def rebased(repo: Repo, tree: Path, *options: str) -> tuple[str, str] | None:
    """Return tree and log of a real rebase, None where it stops."""
    repo.git("worktree", "add", "-q", "--detach", str(tree), "feature")
    line = ["git", "-c", "merge.directoryRenames=conflict", "rebase", *options, "main"]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    env |= {
        "GIT_COMMITTER_NAME": "C",
        "GIT_COMMITTER_EMAIL": "c@x",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    done = subprocess.run(line, cwd=tree, env=env, capture_output=True, check=False, timeout=60)
    return None if done.returncode else described(Repo(tree), "HEAD")


def described(repo: Repo, name: str, git_dir: str = ".git") -> tuple[str, str]:
    shape = "--format=%an %ae %ad %s"
    base = "main" if git_dir == ".git" else repo.git("rev-parse", "main")
    log = repo.git("log", shape, f"{base}..{name}")
    return repo.git("rev-parse", f"{name}^{{tree}}"), log


def ours(git: MirrorGit, repo: Repo, merged: str) -> tuple[str, str]:
    where = f"--git-dir={git.local.path}"
    log = repo.git(where, "log", "--format=%an %ae %ad %s", f"{repo.sha('main')}..{merged}")
    return repo.git(where, "rev-parse", f"{merged}^{{tree}}"), log


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(trunk=HISTORY, branch=HISTORY)
def test_a_replay_is_what_git_rebase_makes(
    trunk: list[tuple[str, int, str]], branch: list[tuple[str, int, str]]
) -> None:
    with TemporaryDirectory() as folder:
        room = Path(folder)
        repo = Repo.init(room / "o.git")
        build(repo, trunk, branch)
        repo.pull(7, repo.sha("feature"))
        git = mirror_of(repo.url, room / "m")
        git.fetch("main", [7])
        result = git.replay(ask(repo.sha("main"), repo.sha("feature"), Method.REBASE))
        real = rebased(repo, room / "w", "--reapply-cherry-picks")
        match result:
            case Replayed():
                expected = real or rebased(repo, room / "w2")
                assert ours(git, repo, result.merge.merged) == expected
            case EmptyReplay(on_base=True):
                real = real or rebased(repo, room / "w2")
                assert real
                assert real[0] == repo.git("rev-parse", "main^{tree}")
            case Conflicted(paths):
                whole = git.replay(ask(repo.sha("main"), repo.sha("feature"), Method.SQUASH))
                assert paths
                assert real is None or whole != result or isinstance(whole, Conflicted)
            case _:
                assert result == EmptyReplay(on_base=False)
                assert repo.git("rev-parse", "feature^{tree}") == repo.git(
                    "rev-parse", "start^{tree}"
                )
