import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from mergebot.domain.candidate import Claim, Ejected, GateEvidence, Gating, Landed, Queued
from mergebot.domain.gate import Failed, StepResult
from mergebot.domain.lane import RunProgress
from mergebot.domain.reasons import Fault, Reason
from mergebot.domain.receipts import LandingRecord, Receipt, write_receipt
from mergebot.domain.wording import iso
from tests.support.browser import launched, served
from tests.support.sample import LANE, MERGE, VERDICT, candidate
from tests.support.scene import SHOP, fill_calm, fill_halted
from tests.support.website import Website, entry, order

pytestmark = pytest.mark.slow

PHONE: ViewportSize = {"width": 360, "height": 740}
ATTACK = (
    '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
    "\"'><svg onload=window.pwned=1> {{7*7}} javascript:window.pwned=1"
)


@dataclass
class Visit:
    """An open page on a served website, and what its console complained of."""

    site: Website
    page: Page
    address: str
    complaints: list[str]

    def go(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def live(self) -> None:
        expect(self.page.locator("#live")).to_have_text("live")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    site = Website()
    site.clock.at = time.time()
    context = chromium.new_context()
    with served(site.app()) as address:
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield Visit(site, page, address, complaints)
        context.close()


def test_the_page_shows_the_queue_and_says_that_it_is_live(visit: Visit) -> None:
    fill_halted(visit.site)
    page = visit.go(f"/{SHOP.repo}")
    visit.live()
    expect(page.locator(".entry")).to_have_count(8)
    expect(page.get_by_role("heading", name="Nothing lands on main for now")).to_be_visible()
    expect(page.locator(".entry").first).to_contain_text("repair lane")
    assert visit.complaints == []


def test_a_change_appears_without_reloading_and_is_announced(visit: Visit) -> None:
    visit.site.put(candidate(Queued(), pr=1))
    page = visit.go("/o/r")
    visit.live()
    page.evaluate("window.same = true")
    visit.site.put(candidate(Queued(), pr=2, title="Came in later"))
    expect(page.locator(".entry")).to_have_count(2)
    expect(page.locator("#said")).to_have_text("main is green. 2 in the queue.")
    assert page.evaluate("window.same") is True
    assert page.title() == "2 in the queue of o/r · mergebot"


def test_focus_stays_where_it_was_when_the_page_changes(visit: Visit) -> None:
    visit.site.put(candidate(Queued(), pr=1))
    page = visit.go("/o/r")
    visit.live()
    page.get_by_role("link", name="Change number 1").focus()
    visit.site.put(candidate(Queued(), pr=2))
    expect(page.locator(".entry")).to_have_count(2)
    assert page.evaluate("document.activeElement.textContent") == "Change number 1"


def test_the_log_of_a_running_gate_grows_and_ends(visit: Visit) -> None:
    now = visit.site.clock.at
    running = candidate(Gating(MERGE, "r1", now - 5))
    visit.site.put(running, orders=(order("r1", running, now - 5),))
    visit.site.runs.take(LANE, "r1", "w1", now - 5)
    visit.site.runs.beat(LANE, "r1", RunProgress("w1", now - 5, now, "test", now - 4, ("build",)))
    visit.site.logs.append(LANE, "r1", b"first line\n")
    page = visit.go("/o/r/pull/7")
    expect(page.locator("#log")).to_have_text("first line\n")
    visit.site.logs.append(LANE, "r1", b"<b>second</b> line\n")
    expect(page.locator("#log")).to_contain_text("<b>second</b> line")
    failed = Failed(Reason.GATE_FAILED, (StepResult("test", "make", 1, 2.0, "e"),), "E", "E")
    visit.site.runs.finish(LANE, "r1", failed, now)
    expect(page.locator("#log-state")).to_have_text("complete")


def test_without_script_everything_can_be_read_and_searched(chromium: Browser) -> None:
    site = Website()
    fill_calm(site)
    with served(site.app()) as address:
        page = chromium.new_context(java_script_enabled=False).new_page()
        page.goto(f"{address}/{SHOP.repo}")
        page.get_by_role("searchbox").fill("discount")
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".entry")).to_have_count(1)
        expect(page.locator(".entry")).to_contain_text("Take the discount once")


def test_dark_mode_is_dark_and_light_mode_is_light(visit: Visit) -> None:
    fill_calm(visit.site)
    page = visit.go(f"/{SHOP.repo}")
    shades = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades[scheme] = sum(int(part) for part in colour.strip("rgb()").split(","))
    assert shades["light"] > 600
    assert shades["dark"] < 150


@pytest.mark.parametrize("path", ["", "/pull/198", "/pull/214", "/claims", "/landings", "/stats"])
def test_a_phone_shows_everything_without_sideways_scrolling(visit: Visit, path: str) -> None:
    fill_halted(visit.site)
    visit.page.set_viewport_size(PHONE)
    page = visit.go(f"/{SHOP.repo}{path}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("width", [320, 360, 800, 1400])
def test_a_word_without_end_widens_no_page(visit: Visit, width: int) -> None:
    fill_fields(visit.site, "a_word_without_end_" * 10)
    visit.page.set_viewport_size({"width": width, "height": 740})
    for path in ("", "/pull/7", "/pull/8", "/pull/9", "/claims", "/landings", "/stats"):
        page = visit.go(f"/{LANE.repo}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_the_keyboard_reaches_everything_in_reading_order(visit: Visit) -> None:
    visit.site.put(candidate(Queued(), pr=1))
    page = visit.go("/o/r")
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.innerText || document.activeElement.id"))
    assert seen == [
        *("Skip to content", "mergebot", "o/r", "Queue", "Claims", "Landings", "Stats"),
        *("Sign in", "bbbbbbb", "q", "Search", "Change number 1"),
    ]
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_skipping_leads_to_the_content(visit: Visit) -> None:
    visit.site.put(candidate(Queued(), pr=1))
    page = visit.go("/o/r")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_who_wants_less_motion_gets_none(visit: Visit) -> None:
    fill_calm(visit.site)
    visit.page.emulate_media(reduced_motion="reduce")
    page = visit.go(f"/{SHOP.repo}")
    page.evaluate("document.querySelector('.entry').classList.add('fresh')")
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("path", ["", "/pull/7", "/pull/8", "/pull/9", "/claims", "/landings"])
def test_a_payload_in_every_field_runs_nothing(visit: Visit, path: str) -> None:
    fill_fields(visit.site, ATTACK)
    page = visit.go(f"/o/r{path}")
    visit.live()
    visit.site.put(candidate(Queued(), pr=10, title=ATTACK))
    expect(page.locator("#live")).to_have_text("live")
    page.wait_for_function("document.body.innerText.includes('window.pwned=1')")
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img, main script").count() == 0
    assert visit.complaints == []


def fill_fields(site: Website, text: str) -> None:
    """Fill every field that somebody else chooses with a text."""
    now = site.clock.at
    claim = Claim(text, text, (text,))
    step = StepResult(text, text, 1, 2.0, "e")
    failed = Failed(Reason.GATE_FAILED, (step,), text, text)
    ejected = Ejected(Reason.GATE_FAILED, GateEvidence(MERGE, "r1", failed, Fault.CANDIDATE), now)
    running = candidate(Gating(MERGE, "r2", now), pr=8, title=text, branch=text, claim=claim)
    site.put(
        candidate(ejected, title=text, branch=text, claim=claim),
        running,
        candidate(Landed(MERGE, "d", now), pr=9, title=text, branch=text, claim=claim),
        orders=(order("r2", running, now),),
        entries=tuple(entry(now, pr, text, text) for pr in (7, 8, 9)),
        landed=(receipt(now, text),),
    )
    site.runs.take(LANE, "r2", text, now)
    site.runs.beat(LANE, "r2", RunProgress(text, now, now, text, now))
    for run in ("r1", "r2"):
        site.logs.append(LANE, run, text.encode())


def receipt(now: float, text: str) -> Receipt:
    """Return a receipt whose every text is `text`."""
    verdict = replace(VERDICT, steps=(StepResult(text, text, 0, 1.0, text),))
    landed = candidate(Queued(), pr=9, claim=Claim(text, text, (text,)))
    record = LandingRecord(iso(now), 1, text)
    return write_receipt(LANE, landed, merge=MERGE, verdict=verdict, record=record)
