"""House rules for everything that is tracked."""

import re

import pytest

from tests.tidy.tracked import ROOT, files, paths, text

BLOB_BYTES_MAX = 1024 * 1024
FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,}).*?^ {0,3}(?P=fence)", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"^# .*$", re.MULTILINE)

# Written so that this file does not match itself.
LEAKS = {
    "a path of one machine": re.compile(r"(?<![\w.$}>-])/(?:wor[k]|roo[t]|home/\w+|Users/\w+)/"),
    "a package index": re.compile(r"--(?:extra-)?index-ur[l]|\"resolved\": *\"http[s]"),
    "a package file": re.compile(r"https?://[^ ]*\.(?:wh[l]|tg[z])\b"),
    "a private key": re.compile(r"BEGI[N] (?:[A-Z]+ )?PRIVATE KEY"),
}


def test_no_file_is_larger_than_a_mebibyte() -> None:
    assert [p for p in files() if (ROOT / p).stat().st_size > BLOB_BYTES_MAX] == []


@pytest.mark.parametrize("what", LEAKS)
def test_no_file_holds(what: str) -> None:
    found = [
        f"{path}:{number}: {line.strip()[:120]}"
        for path in files()
        for number, line in enumerate(text(path).splitlines(), 1)
        if LEAKS[what].search(line)
    ]
    assert not found, what


def test_a_markdown_file_has_one_title() -> None:
    titles = {path: TITLE.findall(FENCE.sub("", text(path))) for path in paths(ending=".md")}
    assert {path: found for path, found in titles.items() if len(found) != 1} == {}


def test_the_readme_opens_with_the_two_commands() -> None:
    opening = text("README.md").split("\n## ")[0]
    assert 0 < opening.find("make demo") < opening.find("make test")


def test_every_template_is_named_by_the_code_or_another_template() -> None:
    naming = [p for p in paths(under=("mergebot/", "templates/")) if p.endswith((".py", ".j2"))]
    orphans = [
        template
        for template in paths(under="templates/", ending=".j2")
        if not any(template.rsplit("/", 1)[1] in text(p) for p in naming if p != template)
    ]
    assert not orphans


def test_no_template_trusts_a_value_as_markup() -> None:
    assert [p for p in paths(under="templates/") if re.search(r"\|\s*safe\b", text(p))] == []
