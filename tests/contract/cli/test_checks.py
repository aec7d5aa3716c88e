"""`config check` and `scope check` in a checkout, as an author or a workflow runs them."""

import json
from pathlib import Path

import pytest

from tests.support.forge import GIT_ENV, Work
from tests.support.product import run

RULES = '[[gate.steps]]\nname = "test"\nrun = "true"\n\n[claims]\nprotected = ["secret/**"]\n'


@pytest.fixture
def work(tmp_path: Path) -> Work:
    checkout = Work(tmp_path / "checkout", "")
    checkout.path.mkdir()
    checkout.git("init", "-q", "-b", "main")
    checkout.commit("base", {".mergebot.toml": RULES, "src/a.py": "1\n"})
    checkout.git("switch", "-q", "-c", "change")
    return checkout


def claim(tmp_path: Path, *patterns: str) -> str:
    file = tmp_path / "body.md"
    shown = ", ".join(f'"{each}"' for each in patterns)
    file.write_text(f'Why.\n\n```mergebot\ntask = "T-1"\nclaims = [{shown}]\n```\n')
    return str(file)


def check(work: Work, body: str, *more: str) -> tuple[int, str, str]:
    options = ["--base", "main", "--head", "change", "--claim-file", body]
    done = run("scope", "check", *options, *more, cwd=work.path, settings=GIT_ENV)
    return done.code, done.out, done.err


def test_a_change_inside_its_claim_passes(work: Work, tmp_path: Path) -> None:
    work.commit("inside", {"src/a.py": "2\n", "src/deep/b.py": "3\n"})
    assert check(work, claim(tmp_path, "src/**")) == (
        0,
        "2 changed paths inside the claim and the rules.\n",
        "",
    )


def test_a_change_that_strays_fails_with_every_stray_path(work: Work, tmp_path: Path) -> None:
    work.commit("outside", {"src/a.py": "2\n", "docs/x.md": "x\n", "srcs/y": "y\n"})
    code, out, err = check(work, claim(tmp_path, "src/**"))
    assert (code, out) == (1, "")
    assert err == "docs/x.md is outside the claim.\nsrcs/y is outside the claim.\n"


def test_the_trunk_going_on_meanwhile_is_no_part_of_the_change(work: Work, tmp_path: Path) -> None:
    work.commit("inside", {"src/a.py": "2\n"})
    work.git("switch", "-q", "main")
    work.commit("elsewhere", {"other.txt": "o\n"})
    assert check(work, claim(tmp_path, "src/**"))[0] == 0


def test_the_rules_are_read_at_the_base(work: Work, tmp_path: Path) -> None:
    work.commit("open it", {"secret/key": "k\n", "loose": RULES.replace("secret/**", "none")})
    code, _, err = check(work, claim(tmp_path, "secret/key", "loose"))
    assert code == 1
    assert err.startswith("secret/key is protected")
    assert check(work, claim(tmp_path, "secret/key", "loose"), "--admin")[0] == 0


def test_the_same_as_json(work: Work, tmp_path: Path) -> None:
    work.commit("outside", {"docs/x.md": "x\n"})
    code, out, err = check(work, claim(tmp_path, "src/**"), "--json")
    found = json.loads(out)
    assert (code, err) == (1, "")
    assert (found["inside"], found["reason"]) == (False, "out_of_scope")
    assert found["strayed"] == ["docs/x.md"]


def test_a_broken_claim_block_is_told(work: Work, tmp_path: Path) -> None:
    work.commit("change", {"src/a.py": "2\n"})
    code, _, err = check(work, claim(tmp_path, "../up"))
    assert code == 1
    assert ".." in err


@pytest.mark.parametrize("name", ["nowhere", "--upload-pack=x", "main~7"])
def test_a_commit_that_is_not_there_is_named(work: Work, tmp_path: Path, name: str) -> None:
    options = [f"--base={name}", "--head=change", f"--claim-file={claim(tmp_path, 'x')}"]
    refused = run("scope", "check", *options, cwd=work.path)
    assert refused.code == 1
    assert refused.err == f"'{name}' names no commit of this checkout; fetch it first.\n"


def test_outside_a_checkout_there_is_nothing_to_check(tmp_path: Path) -> None:
    options = ["--base=a", "--head=b", f"--claim-file={claim(tmp_path, 'x')}"]
    refused = run("scope", "check", *options, cwd=tmp_path)
    assert (refused.code, refused.err) == (1, f"{tmp_path} is no git checkout.\n")


def test_valid_rules_are_named(work: Work) -> None:
    shown = run("config", "check", cwd=work.path)
    assert (shown.code, shown.out) == (0, ".mergebot.toml is valid; the gate is test.\n")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "rules.toml"
    refused = run("config", "check", str(missing), "--json")
    assert (refused.code, refused.err) == (1, f"{missing} does not exist.\n")
    assert json.loads(refused.out) == {
        "file": str(missing), "valid": False, "faults": [f"{missing} does not exist."],
    }  # fmt: skip


def test_every_fault_of_the_rules_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("trunck = 'main'\n[queue]\nmethod = 'magic'\n")
    refused = run("config", "check", str(file))
    assert (refused.code, refused.out) == (1, "")
    assert len(refused.err.splitlines()) >= 2
    as_json = json.loads(run("config", "check", str(file), "--json").out)
    assert as_json["valid"] is False
    assert as_json["faults"] == refused.err.splitlines()


def test_rules_without_a_gate_are_not_valid(tmp_path: Path) -> None:
    file = tmp_path / ".mergebot.toml"
    file.write_text("")
    refused = run("config", "check", cwd=tmp_path)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(".mergebot.toml has no gate, so nothing could land.")
    assert "[[gate.steps]]" in refused.err
    assert json.loads(run("config", "check", "--json", cwd=tmp_path).out)["valid"] is False


def test_a_repository_without_rules_is_shown_the_smallest(tmp_path: Path) -> None:
    refused = run("config", "check", cwd=tmp_path)
    assert refused.code == 1
    assert "[[gate.steps]]" in refused.err
