import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mergebot.domain.candidate import (
    Blocked,
    Cancelled,
    ConflictEvidence,
    Ejected,
    Failing,
    Gating,
    Landed,
    Landing,
    Parked,
    PlainEvidence,
    Queued,
    ScopeEvidence,
    State,
    Verified,
)
from mergebot.domain.reasons import Reason
from mergebot.domain.status import (
    HIDDEN_CHARS_MAX,
    Place,
    hidden_line,
    read_hidden_line,
    status_document,
)
from tests.support.sample import (
    BASE,
    FAILED,
    GATE_EVIDENCE,
    HEAD,
    MERGE,
    MERGED,
    POLICY,
    SETTING,
    VERDICT,
    candidate,
)

KEYS = [
    "v",
    "repo",
    "pr",
    "head",
    "trunk",
    "state",
    "reason",
    "fault",
    "position",
    "eta_s",
    "base",
    "merged",
    "step",
    "command",
    "exit_code",
    "seconds",
    "first_error",
    "log_url",
    "claimed",
    "strayed",
    "conflicts",
    "attempt",
    "failures_left",
    "may_requeue",
    "next_action",
    "repro",
]

EVERY_STATE: list[tuple[State, str]] = [
    (Queued(), "queued"),
    (Parked(Reason.HELD, "held by a label"), "parked"),
    (Blocked(BASE, Reason.CONFLICT, ConflictEvidence(BASE, ("a.py",))), "queued"),
    (Gating(MERGE, "r1", 5.0), "gating"),
    (Failing(MERGE, "r1", FAILED), "gating"),
    (Verified(MERGE, VERDICT), "verified"),
    (Landing(MERGE, VERDICT, "digest", 5.0), "landing"),
    (Landed(MERGE, "digest", 5.0), "landed"),
    (Ejected(Reason.GATE_FAILED, GATE_EVIDENCE, 5.0), "ejected"),
    (Cancelled(Reason.CLOSED, "closed by its author", 5.0), "cancelled"),
]


def document(state: State, **changes: object) -> dict[str, object]:
    return status_document(candidate(state, **changes), SETTING)


def test_every_state_has_its_word_and_every_key() -> None:
    found = [document(state) for state, _ in EVERY_STATE]
    assert [each["state"] for each in found] == [name for _, name in EVERY_STATE]
    assert all(set(KEYS) <= set(each) for each in found)


def test_a_failed_gate_says_what_failed_and_how_to_see_it_again() -> None:
    found = document(Ejected(Reason.GATE_FAILED, GATE_EVIDENCE, 5.0))
    facts = [found[key] for key in ("reason", "fault", "step", "command", "exit_code", "seconds")]
    assert facts == ["gate_failed", "candidate", "test", "pytest -q", 1, 41.2]
    assert found["repro"] == [
        "git fetch origin refs/mergebot/candidate/7",
        f"git switch --detach {MERGED}",
        "pytest -q",
    ]
    assert found["log_url"] == "http://127.0.0.1:8420/o/r/pull/7/log/r1"
    assert (found["base"], found["merged"], found["head"]) == (BASE, MERGED, HEAD)


def test_while_failures_are_left_the_author_may_try_again() -> None:
    found = document(Ejected(Reason.GATE_FAILED, GATE_EVIDENCE, 5.0), failures=1)
    assert (found["failures_left"], found["may_requeue"]) == (2, True)
    assert found["next_action"] == "push a fix, then label again"


def test_after_the_last_failure_a_person_decides() -> None:
    found = document(Ejected(Reason.GATE_FAILED, GATE_EVIDENCE, 5.0), failures=3)
    assert (found["failures_left"], found["may_requeue"]) == (0, False)
    assert found["next_action"] == "a person decides"


def test_a_cause_that_spends_nothing_leaves_the_way_open_even_then() -> None:
    evidence = PlainEvidence("the label was set by someone who may only read")
    found = document(Ejected(Reason.NOT_PERMITTED, evidence, 5.0), failures=3)
    assert found["may_requeue"] is True


def test_a_conflict_names_its_paths_and_the_commit_it_clashed_with() -> None:
    found = document(Ejected(Reason.CONFLICT, ConflictEvidence(BASE, ("a.py",)), 5.0))
    assert (found["conflicts"], found["base"], found["merged"]) == (["a.py"], BASE, None)


def test_strays_stand_beside_the_claim() -> None:
    evidence = ScopeEvidence(MERGE, ("x.py", "b\udcff"), ("x.py lies outside the claim.",))
    found = document(Ejected(Reason.OUT_OF_SCOPE, evidence, 5.0))
    assert (found["claimed"], found["strayed"]) == (["src/**"], ["x.py", "b?"])


def test_position_and_eta_are_those_of_open_candidates_only() -> None:
    place = Place(position=3, eta_s=61.6)
    queued = status_document(candidate(Queued()), SETTING, place)
    landed = status_document(candidate(Landed(MERGE, "d", 5.0)), SETTING, place)
    assert (queued["position"], queued["eta_s"]) == (3, 62)
    assert (landed["position"], landed["eta_s"]) == (None, None)


@given(st.text(alphabet=st.sampled_from('-><@#!"\\u002dé\u202e\x00ab \n'), max_size=60))
def test_no_text_ends_the_hidden_comment_and_all_of_it_comes_back(text: str) -> None:
    found = {**document(Queued()), "first_error": text, "claimed": [text]}
    line = hidden_line(found)
    inside = line.removeprefix("<!-- ").removesuffix(" -->")
    assert not any(bad in inside for bad in ("--", "<", ">", "@", "#", "\n"))
    assert read_hidden_line(f"{line}\nrest") == json.loads(json.dumps(found))


def test_two_dashes_are_written_as_the_format_says() -> None:
    assert "-\\u002dflag" in hidden_line({"v": 1, "command": "make --flag"})


def test_a_hidden_line_stays_short_and_says_that_it_was_cut() -> None:
    paths = tuple(f"{'d' * 400}/{number}" for number in range(20_000))
    found = document(Ejected(Reason.OUT_OF_SCOPE, ScopeEvidence(MERGE, paths, ()), 5.0))
    line = hidden_line(found)
    read = read_hidden_line(line)
    assert len(line) <= HIDDEN_CHARS_MAX
    assert read is not None
    assert (read["truncated"], read["next_action"]) == (True, found["next_action"])


def test_what_is_no_hidden_line_reads_as_none() -> None:
    for text in ("", "hello", "<!-- mergebot:v1 {broken -->", "<!-- mergebot:v1 [1] -->"):
        assert read_hidden_line(text) is None
    assert read_hidden_line("quote\n" + hidden_line({"v": 1})) is None
    assert read_hidden_line("<!-- mergebot:v1 " + '{"a":' * 90_000 + "} -->") is None


def test_the_budget_is_that_of_the_rules_in_force() -> None:
    policy = replace(POLICY, budget=replace(POLICY.budget, failures=9))
    found = status_document(candidate(Queued(), failures=1), replace(SETTING, policy=policy))
    assert found["failures_left"] == 8
