from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mergebot.domain.audit import pool_of
from mergebot.domain.holding import (
    Deed,
    Denied,
    Done,
    Extend,
    Overseer,
    Park,
    Reclaim,
    Release,
    Renew,
    Right,
    Session,
    Unpark,
    act,
    suspect,
)
from mergebot.domain.ledger import (
    Active,
    Granted,
    Parked,
    Standing,
    Suspect,
    Taken,
    Terms,
    acquire,
    proof_of,
)
from mergebot.domain.patterns import Pattern, overlaps, parse
from mergebot.domain.roots import Roots
from tests.support.builders import NOW
from tests.support.claims import ask, claim, ledger

TERMS = Terms("fresh", NOW)
PARKED = Parked("mia", "waits", NOW)
SUSPECT = Suspect(NOW, "silent")
HELD = claim("a", "A-1", "src/**")
MINE = Session(proof_of("token-a"), 1)


def done(deed: Deed, right: Right, standing: Standing | None = None) -> Done | Denied | Taken:
    state = standing or Active()
    return act(ledger(replace(HELD, state=state)), "a", deed, right, now=NOW + 9)


def sentence(found: object) -> str:
    assert isinstance(found, Denied)
    return found.sentence


def test_a_claim_gets_the_next_generation() -> None:
    found = acquire(ledger(HELD, generation=41), ask("B-2", "docs/"), TERMS)
    assert isinstance(found, Granted)
    assert found.claim.generation == 42


def test_each_live_state_excludes_and_an_ended_claim_does_not() -> None:
    for state in (Active(), PARKED, SUSPECT):
        taken = acquire(ledger(replace(HELD, state=state)), ask("B-2", "src/x"), TERMS)
        assert isinstance(taken, Taken)
        assert [each.id for each in taken.holders] == ["a"]
    assert isinstance(acquire(ledger(), ask("B-2", "src/x"), TERMS), Granted)


def test_overlap_holds_for_files_that_do_not_exist_and_names_that_fold_alike() -> None:
    mine = ledger(claim("a", "A-1", "Src/Caf\u00e9/*.py"))
    assert isinstance(acquire(mine, ask("B-2", "**/CAFE\u0301/new.PY"), TERMS), Taken)
    assert isinstance(acquire(mine, ask("B-2", "src/caf\u00e9/sub/new.py"), TERMS), Granted)


def test_one_task_has_one_live_claim_however_it_is_written() -> None:
    mine = ledger(claim("a", "#12", "src/**"))
    for task in ("#12", " #12 ", "https://forge.test/o/r/issues/12"):
        assert isinstance(acquire(mine, ask(task, "docs/"), TERMS), Taken)
    assert isinstance(
        acquire(mine, ask("https://x.test/o/other/issues/12", "docs/"), TERMS), Granted
    )


def test_a_full_pool_grants_nothing_more() -> None:
    full = acquire(ledger(HELD), ask("B-2", "docs/"), replace(TERMS, pool=1))
    assert isinstance(full, Taken)
    assert "all 1 places" in full.sentence


def test_only_the_token_at_its_exact_generation_acts() -> None:
    assert isinstance(done(Release(), MINE), Done)
    assert "does not own" in sentence(done(Release(), Session(proof_of("guess"), 1)))
    assert "does not own" in sentence(done(Release(), Session("", 1)))
    assert "generation 1, not 2" in sentence(done(Release(), replace(MINE, generation=2)))
    assert "name the generation" in sentence(done(Release(), replace(MINE, generation=0)))


def test_a_name_confers_nothing() -> None:
    twin = claim("b", "B-2", "docs/")
    twin = replace(twin, owner=HELD.owner)
    found = act(ledger(HELD, twin), "a", Release(), Session(twin.proof, 1), now=NOW)
    assert "a name or host confers nothing" in sentence(found)


def test_every_deed_but_a_sign_of_life_fences_who_knows_the_old_generation() -> None:
    deeds = (Park("waits", NOW), Extend(("docs/",)), Reclaim("heir", proof_of("new")))
    for deed in deeds:
        found = done(deed, Overseer("boss", 1))
        assert isinstance(found, Done)
        assert found.claim.generation == 2
    renewed = done(Renew(), MINE)
    assert isinstance(renewed, Done)
    assert renewed.claim.generation == 1


def test_parked_work_is_never_reclaimed_and_only_unparked_by_hand() -> None:
    assert "is parked" in sentence(done(Reclaim("heir", "p"), Overseer("boss", 1), PARKED))
    renewed = done(Renew(), MINE, PARKED)
    assert isinstance(renewed, Done)
    assert isinstance(renewed.claim.state, Parked)
    unparked = done(Unpark(), MINE, PARKED)
    assert isinstance(unparked, Done)
    assert isinstance(unparked.claim.state, Active)


def test_age_only_raises_the_flag_and_a_sign_of_life_takes_it_down() -> None:
    flagged = suspect(HELD, "silent", now=NOW).claim
    assert (flagged.live, flagged.generation) == (True, HELD.generation)
    renewed = done(Renew(), MINE, SUSPECT)
    assert isinstance(renewed, Done)
    assert isinstance(renewed.claim.state, Active)
    assert isinstance(suspect(replace(HELD, state=PARKED), "old", now=NOW).claim.state, Parked)


def test_reclaiming_needs_an_overseer_and_the_exact_generation() -> None:
    deed = Reclaim("heir", proof_of("new"))
    assert "only an admin" in sentence(done(deed, MINE))
    assert "exact generation" in sentence(done(deed, Overseer("boss")))
    assert "not 7" in sentence(done(deed, Overseer("boss", 7)))


def test_extending_meets_the_claims_of_others() -> None:
    both = ledger(HELD, claim("b", "B-2", "docs/**"))
    assert isinstance(act(both, "a", Extend(("docs/x",)), MINE, now=NOW), Taken)


SEGMENTS = st.sampled_from(["a", "b", "A", "*", "a*", "?", "**"])
PATTERNS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)


@given(st.lists(PATTERNS, max_size=8), PATTERNS)
def test_the_index_finds_exactly_what_comparing_all_finds(held: list[str], wanted: str) -> None:
    claims = [claim(f"c{n}", f"T-{n}", text) for n, text in enumerate(held)]
    probe = parse(wanted)
    assert isinstance(probe, Pattern)
    slow = {
        each.id
        for each in claims
        for pattern in map(parse, each.patterns)
        if isinstance(pattern, Pattern) and overlaps(probe, pattern)
    }
    assert {each.id for each in ledger(*claims).rivals([wanted], but="")} == slow


@given(st.lists(st.tuples(st.text("ab", max_size=2), st.booleans())))
def test_what_is_dropped_from_the_index_leaves_nothing_behind(
    steps: list[tuple[str, bool]],
) -> None:
    index = Roots()
    for number, (text, _) in enumerate(steps):
        index = index.add([tuple(text)], str(number))
    for number, (text, _) in enumerate(steps):
        index = index.drop([tuple(text)], str(number))
    assert index == Roots()


STATES = st.sampled_from([Active(), PARKED, SUSPECT])


@given(st.lists(STATES, max_size=12), st.integers(0, 20))
def test_the_pool_always_adds_up(states: list[Standing], size: int) -> None:
    claims = [claim(f"c{n}", f"T-{n}", f"{n}/", state=state) for n, state in enumerate(states)]
    pool = pool_of(ledger(*claims), size)
    assert pool.active + pool.parked + pool.suspect + pool.free == pool.size
    assert pool.size == max(size, len(states))


def test_among_ten_thousand_live_claims_overlap_is_found_as_among_ten() -> None:
    claims = [
        claim(f"c{n}", f"T-{n}", f"src/m{n % 97}/f{n}/**", f"t/{n}.py") for n in range(10_000)
    ]
    big = ledger(*claims)
    for n in range(50):
        assert isinstance(acquire(big, ask(f"N-{n}", f"src/new{n}/**"), TERMS), Granted)
        assert isinstance(acquire(big, ask(f"N-{n}", f"src/m5/f{5 + 97 * n}/x"), TERMS), Taken)
        big = big.with_claims([claim(f"n{n}", f"N-{n}", f"new/{n}")])
