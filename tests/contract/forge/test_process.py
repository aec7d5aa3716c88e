import gzip
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import requests

from tests.support.forge import GIT_ENV, ForgeProcess, Receiver, Work
from tests.support.waiting import eventually

Opened = Callable[[str], int]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mergebot.cli.forge", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_restart_keeps_everything(tmp_path: Path) -> None:
    with ForgeProcess(tmp_path / "root") as forge:
        forge.repo("alice/kept")
        work = forge.clone("alice/kept", tmp_path / "work")
        work.commit("Change", {"file": "text"})
        work.push("-q", "HEAD:refs/for/main", "-o", "label=merge-queue")
        assert forge.stop() == 0
        forge.start()

        pull = forge.client("alice").get_repo("alice/kept").get_pull(1)
        work.push("-q", "HEAD:refs/heads/main")

        assert [label.name for label in pull.labels] == ["merge-queue"]
        assert forge.client("alice").get_repo("alice/kept").get_pull(1).merged is True


def test_what_could_not_be_delivered_before_the_end_is_sent_after_the_start(
    tmp_path: Path, receiver: Receiver
) -> None:
    with ForgeProcess(tmp_path / "root") as forge:
        forge.repo("alice/kept")
        config = {"url": receiver.url, "content_type": "json"}
        repo = forge.client("alice").get_repo("alice/kept")
        repo.create_hook("web", config, events=["issues"])
        forge.fault("delay_s", path="/never", seconds=1)
        for n in range(20):
            repo.create_issue(str(n))
        forge.stop(signal.SIGKILL)
        forge.start()

        receiver.wait_for("issues.opened")
        hook = forge.call("GET", "/repos/alice/kept/hooks").json()[0]
        path = f"/repos/alice/kept/hooks/{hook['id']}/deliveries?per_page=100"
        wanted = {d["guid"] for d in forge.call("GET", path).json() if d["event"] == "issues"}
        assert len(wanted) == 20


def test_a_push_that_was_cut_off_before_it_was_followed_is_followed_at_the_start(
    tmp_path: Path,
) -> None:
    with ForgeProcess(tmp_path / "root") as forge:
        repo = forge.repo("alice/kept")
        work = forge.clone("alice/kept", tmp_path / "work")
        before = work.commit("Change", {"file": "text"})
        work.push("-q", "HEAD:refs/for/main", "-o", "branch=topic")
        after = work.commit("More", {"file": "more"})
        forge.stop()
        bare = forge.root / "repositories" / f"{repo['id']}.git"
        work.git("push", "-q", str(bare), "HEAD:refs/heads/topic")
        left = forge.root / "spool" / f"{repo['id']}-{repo['owner']['id']}-left"
        left.write_text(f"{before} {after} refs/heads/topic\n")

        forge.start()

        assert forge.call("GET", "/repos/alice/kept/pulls/1").json()["head"]["sha"] == after
        assert not left.exists()


def test_the_first_branch_pushed_to_an_empty_repository_becomes_its_default(
    forge: ForgeProcess, work: Work
) -> None:
    forge.repo("alice/fresh", auto_init=False)

    work.git("push", "-q", forge.remote("alice/fresh", "alice"), "HEAD:refs/heads/master")

    assert forge.call("GET", "/repos/alice/fresh").json()["default_branch"] == "master"


def test_many_refs_are_packed_aside_and_stay_readable(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    repo = forge.client("alice").get_repo(name)
    packed = forge.root / "repositories" / f"{repo.id}.git" / "packed-refs"
    for n in range(100):
        repo.create_git_ref(f"refs/heads/many/{n}", work.head())

    eventually(packed.exists, within_s=20, what="the refs were packed")

    assert repo.get_git_ref("heads/many/7").object.sha == work.head()
    assert sum(1 for _ in repo.get_git_matching_refs("heads/many/")) == 100


def test_an_existing_repository_is_imported_with_branches_and_tags(
    forge: ForgeProcess, name: str, work: Work, tmp_path: Path
) -> None:
    work.git("tag", "v1")
    work.git("branch", "other")

    done = run("import", str(work.path), "--root", str(forge.root), "--name", "zoe/copy", "--json")

    url = json.loads(done.stdout)["clone_url"]
    listed = subprocess.run(["git", "ls-remote", url], env=GIT_ENV, capture_output=True, text=True, check=True)  # fmt: skip
    assert url == f"{forge.url}/zoe/copy.git"
    assert {"refs/heads/main", "refs/heads/other", "refs/tags/v1"} <= set(listed.stdout.split())
    assert forge.call("GET", "/repos/zoe/copy").json()["default_branch"] == "main"


def test_a_wrong_import_is_refused_in_one_sentence(forge: ForgeProcess, tmp_path: Path) -> None:
    root = str(forge.root)
    no_git = run("import", str(tmp_path), "--root", root, "--name", "zoe/nothing")
    no_name = run("import", str(tmp_path), "--root", root, "--name", "zoe")

    assert (no_git.returncode, no_name.returncode) == (1, 2)
    sentence = (
        f"Error: {tmp_path} cannot be imported: '{tmp_path}' does not appear to be a git repo"
    )
    assert no_git.stderr.splitlines() == [f"{sentence}sitory."]
    assert "Traceback" not in no_git.stderr + no_name.stderr
    assert forge.call("GET", "/repos/zoe/nothing").status_code == 404


def test_a_taken_port_is_told(forge: ForgeProcess, tmp_path: Path) -> None:
    done = run("serve", "--root", str(tmp_path / "second"), "--port", str(forge.port))

    assert done.returncode == 1
    assert f"cannot serve on 127.0.0.1:{forge.port}" in done.stderr


def test_the_admins_token_is_for_its_owner_only(forge: ForgeProcess) -> None:
    path = forge.root / "admin-token"

    assert path.stat().st_mode & 0o777 == 0o600
    assert forge.call("GET", "/user").json()["login"] == "admin"
    assert (forge.root / "address").read_text().strip() == forge.url


def test_many_push_and_ask_at_once(
    forge: ForgeProcess, name: str, work: Work, tmp_path: Path
) -> None:
    clones = [forge.clone(name, tmp_path / f"c{n}") for n in range(6)]
    codes: list[int] = []

    def propose(n: int) -> None:
        clones[n].commit(f"Change {n}", {f"file{n}": "text"})
        codes.append(clones[n].push("HEAD:refs/for/main", "-o", "label=x").code)

    threads = [threading.Thread(target=propose, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    pulls = forge.call("GET", f"/repos/{name}/pulls").json()
    assert codes == [0] * 6
    assert sorted(p["number"] for p in pulls) == [1, 2, 3, 4, 5, 6]
    assert {p["title"] for p in pulls} == {f"Change {n}" for n in range(6)}


def test_git_bodies_may_be_chunked_and_zipped(forge: ForgeProcess, name: str, work: Work) -> None:
    want = f"want {work.head()}\n"
    request = f"{len(want) + 4:04x}{want}0000" + "0009done\n"
    headers = {"Content-Type": "application/x-git-upload-pack-request", "Content-Encoding": "gzip"}
    body = gzip.compress(request.encode())

    def chunks() -> Iterator[bytes]:
        yield body[:10]
        yield body[10:]

    url = f"{forge.url}/{name}.git/git-upload-pack"
    chunked = requests.post(url, data=chunks(), headers=headers, timeout=10)
    whole = requests.post(url, data=body, headers=headers, timeout=10)

    assert chunked.content.startswith(b"0008NAK\nPACK")
    assert chunked.content == whole.content


def test_a_large_push_and_clone_go_through(work: Work, forge: ForgeProcess, name: str) -> None:
    size = 8 * 1024 * 1024
    data = subprocess.run(["openssl", "rand", str(size)], capture_output=True, check=True).stdout
    (work.path / "big").write_bytes(data)
    head = work.commit("Big", {})
    work.push("-q", "HEAD:refs/heads/big")

    again = forge.clone(name, work.path.parent / "again")
    again.git("fetch", "-q", "--depth=1", "origin", "refs/heads/big")

    assert again.git("rev-parse", "FETCH_HEAD").out == head


def test_a_branch_named_with_the_end_of_a_line_is_a_branch(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    sha = work.commit("Odd", {"file": "1\n"})
    assert work.push("-q", "HEAD:refs/heads/a\u2028b").code == 0
    shown = forge.call("GET", f"/repos/{name}/branches").json()
    assert ("a\u2028b", sha) in [(each["name"], each["commit"]["sha"]) for each in shown]


def test_a_title_that_turns_the_writing_round_turns_nothing_but_itself(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    title = "gpj.\u202etnemucod"
    work.commit("Add a picture", {"file": "1\n"})
    work.push("-q", "HEAD:refs/for/main", "-o", f"title={title}", "-o", "label=merge-queue")
    for path in (f"/{name}", f"/{name}/pull/1"):
        shown = requests.get(f"{forge.url}{path}", timeout=10).text
        assert f"<bdi>{title}</bdi>" in shown
        assert "<bdi>merge-queue</bdi>" in shown


def test_pages_show_a_pull_request_as_safe_text(forge: ForgeProcess, name: str, work: Work) -> None:
    work.commit("<b>Change</b>", {"file": "<script>alert(1)</script>\n"})
    body = "body=<img src=x onerror=y> <!-- hidden -->"
    work.push("-q", "HEAD:refs/for/main", "-o", body, "-o", "label=merge-queue")
    forge.client("alice").get_repo(name).get_issue(1).create_comment("Look:\n```\nx = 1\n```")

    index, repo, pull = (
        requests.get(f"{forge.url}{path}", timeout=10)
        for path in ("/", f"/{name}", f"/{name}/pull/1")
    )

    assert name in index.text
    assert "&lt;b&gt;Change&lt;/b&gt;" in repo.text
    assert "<script>" not in pull.text
    assert "<img" not in pull.text
    assert "hidden" not in pull.text
    assert "<pre><code>x = 1\n</code></pre>" in pull.text
    assert "default-src 'none'" in pull.headers["Content-Security-Policy"]
    assert requests.get(f"{forge.url}/{name}/pull/1.diff", timeout=10).text.startswith("diff --git")
