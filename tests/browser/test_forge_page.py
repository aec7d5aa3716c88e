"""The local forge's page of a pull request in real Chromium: notices as meant, nothing active."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import launched
from tests.support.forge import ForgeProcess

pytestmark = pytest.mark.slow

NAME = "alice/shown"
NOTICE = Path(__file__).parents[1] / "golden" / "notices" / "failed.txt"
ATTACKS = (
    "<script>window.pwned=1</script>",
    '<img src=x onerror="window.pwned=1"> <svg onload=window.pwned=1>',
    '<details open ontoggle="window.pwned=1"><summary>x</summary></details>',
    '<a href="javascript:window.pwned=1">click</a> [click](javascript:window.pwned=1)',
    "<details><summary><style>*{display:none}</style></summary>\n\n</section></main>",
    "![x](https://evil.example/track.png) <iframe srcdoc='<script>parent.pwned=1</script>'>",
    "[x](data:text/html,<script>window.pwned=1</script>) <base href=//evil.example>",
    "<!-- --!><script>window.pwned=1</script> -->",
    "```\n</code></pre><script>window.pwned=1</script>\n```",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[tuple[Page, list[str]]]:  # fmt: skip
    """Show a pull request with a notice, every attack, and a last word after them."""
    root = tmp_path_factory.mktemp("shown")
    with ForgeProcess(root / "forge") as forge:
        forge.repo(NAME)
        work = forge.clone(NAME, root / "work")
        work.commit("<script>window.pwned=1</script>", {"one.txt": "1\n"})
        work.push("-q", "HEAD:refs/for/main", "-o", f"body={ATTACKS[1]}")
        issue = forge.client("alice").get_repo(NAME).get_issue(1)
        for text in (NOTICE.read_text(), *ATTACKS, "The last word"):
            issue.create_comment(text)
        page = chromium.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.goto(f"{forge.url}/{NAME}/pull/1")
        yield page, complaints


def test_a_notice_is_shown_with_its_heading_table_and_folds(shown: tuple[Page, list[str]]) -> None:
    page, _ = shown
    expect(page.get_by_role("heading", name="The step test failed")).to_be_visible()
    fold = page.get_by_text("The steps of this gate")
    expect(page.get_by_role("cell", name="exit code 1")).to_be_hidden()
    fold.click()
    expect(page.get_by_role("cell", name="exit code 1")).to_be_visible()
    expect(page.locator("body")).not_to_contain_text("mergebot:v1")


def test_nothing_that_anybody_writes_is_active(shown: tuple[Page, list[str]]) -> None:
    page, complaints = shown
    for link in page.get_by_text("click").all():
        link.click()
    expect(page.get_by_text("The last word")).to_be_visible()
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img, main svg, main script, main style, iframe, base").count() == 0
    assert complaints == []


def test_the_forge_has_an_icon(shown: tuple[Page, list[str]]) -> None:
    page, _ = shown
    answer = page.request.get(f"{page.url.partition('/alice')[0]}/favicon.ico")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
