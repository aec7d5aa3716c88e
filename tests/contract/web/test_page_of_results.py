from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from mergebot.domain.candidate import (
    Doubt,
    Ejected,
    Failing,
    GateEvidence,
    Question,
    State,
    Trial,
    Verified,
)
from mergebot.domain.reasons import Fault
from tests.support.sample import BASE, FAILED, MERGE, MERGED, PASSED, VERDICT, candidate
from tests.support.scene import SHOP, fill_halted
from tests.support.website import NOW, Website

ALONE = Doubt(Question.ALONE, MERGED, BASE, (4, 5), NOW)


@pytest.fixture
def site() -> Website:
    site = Website()
    fill_halted(site)
    return site


@pytest.fixture
def client(site: Website) -> Iterator[TestClient]:
    with TestClient(site.app()) as client:
        yield client


def page(site: Website, client: TestClient, state: State) -> str:
    shown = candidate(state)
    site.put(shown, lane=SHOP)
    return client.get(f"/{SHOP.repo}/pull/{shown.pr}").text


def test_the_page_says_which_steps_were_kept_and_which_are_flaky(
    site: Website, client: TestClient
) -> None:
    steps = (replace(PASSED, seconds=0.0, kept="r0"), replace(PASSED, name="lint", tries=2))
    text = page(site, client, Verified(MERGE, replace(VERDICT, steps=steps)))
    assert "passed, kept</span>" in text
    assert "passed, flaky</span>" in text
    assert ">0 s</td>" in text


def test_the_page_says_that_a_failure_is_being_judged(site: Website, client: TestClient) -> None:
    text = page(site, client, Failing(MERGE, "r1", FAILED, Trial(ALONE, "r2")))
    assert "Now it is gated alone, without #4 and #5." in text


def test_the_page_links_to_those_that_a_change_clashes_with(
    site: Website, client: TestClient
) -> None:
    evidence = GateEvidence(MERGE, "r1", FAILED, Fault.COMBINATION, "r2", (4, 5))
    text = page(site, client, Ejected(FAILED.reason, evidence, NOW))
    assert f'together with <a href="/{SHOP.repo}/pull/4">#4</a>' in text
    assert f'and <a href="/{SHOP.repo}/pull/5">#5</a>' in text
