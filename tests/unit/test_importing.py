import pytest

from mergebot.domain.importing import ImportFaults, Line, read_claims_file
from mergebot.domain.ledger import LedgerClaim, Taken
from mergebot.services.importing import import_lines
from tests.support.village import LANE, START, Village

FILE = """\
# Claims, under the lock

| task | owner | time |
|------|-------|------|
| #12  | agent-7 | 1970-01-12T10:00:00Z |
AUTH-142 | agent-9 | 1970-01-12 11:00 | src/auth/** tests/auth/x.py
DOCS-1 | agent-9 | 999999999
"""


def lines(text: str) -> tuple[Line, ...]:
    found = read_claims_file(text)
    assert isinstance(found, tuple), found
    return found


def test_the_lines_of_a_plain_file_are_read_as_table_or_as_text() -> None:
    first, second, third = lines(FILE)
    assert (first.number, first.task, first.owner, first.at) == (5, "#12", "agent-7", 986400.0)
    assert second.patterns == ("src/auth/**", "tests/auth/x.py")
    assert (second.at, third.at) == (990000.0, 999999999.0)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a | b", "has 2 columns"),
        ("a | b | soon", '"soon" is no time'),
        ("| | b | 2026-11-29 |", "the task must be"),
        ("a | b | 2026-11-29 | /etc", "starts with /"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_is_read(text: str, part: str) -> None:
    found = read_claims_file(f"ok | me | 2026-11-29\n{text}\n")
    assert isinstance(found, ImportFaults)
    assert found.faults[0].startswith("Line 2")
    assert part in found.faults[0]


def test_imported_claims_keep_their_time_and_exclude_others() -> None:
    village = Village()
    first, second, third = import_lines(village.parts, LANE, lines(FILE))
    assert isinstance(first.outcome, LedgerClaim)
    assert (first.outcome.claimed_at, third.outcome.claimed_at) == (986400.0, START)  # type: ignore[union-attr]  # granted
    again = import_lines(village.parts, LANE, lines(FILE))
    assert [type(each.outcome) for each in again] == [Taken, Taken, Taken]
    assert second.outcome.proof == ""  # type: ignore[union-attr]  # granted
    assert len(village.ledger.claims) == 3
