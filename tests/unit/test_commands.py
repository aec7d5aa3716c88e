from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebot.domain.commands import (
    REASON_CHARS_MAX,
    Answer,
    CommandFault,
    ExtendClaim,
    Halt,
    NoCommand,
    Park,
    Plain,
    Resume,
    Retry,
    Stance,
    parse_commands,
)
from mergebot.domain.limits import CLAIM_PATTERNS_MAX

GOLDEN = Path(__file__).parents[1] / "golden" / "commands.txt"
VERBS = [*Plain, "retry", "halt", "resume", "claim", "park", *Stance]

COMMENTS = [
    *(f"@mergebot {verb}" for verb in VERBS),
    *(f"/mergebot {verb} readiness" for verb in VERBS),
    "@MergeBot Queue",
    "@mergebot[bot] queue",
    "@mergebot: queue",
    "@mergebot, status",
    "   @mergebot   queue   ",
    "@mergebot\tqueue",
    "@mergebot queue\nand thanks a lot",
    "@mergebot queue\r\nand thanks a lot",
    "@mergebot",
    "/mergebot",
    "@mergebot qeue",
    "@mergebot thanks!",
    "@mergebot claim src/** tests/?.py",
    '@mergebot claim `src/**` "my file" a\u00a0b',
    "@mergebot claim src/** src/**",
    "@mergebot claim ../x a[b]",
    "@mergebot halt  the   deploy\u202e is\x00 broken",
    "@mergebot agree a b",
    "@mergebot reopen ../x",
    "@mergebot-dev queue",
    "@mergebotqueue",
    "@other queue",
    "please @mergebot queue",
    "> @mergebot queue",
    "    @mergebot queue",
    "\t@mergebot queue",
    "`@mergebot queue`",
    "```\n@mergebot queue\n```",
    "<!-- @mergebot queue -->",
    "\n@mergebot queue",
    "- @mergebot queue",
    "",
]


def test_every_comment_reads_as_the_golden_table_says() -> None:
    table = "\n".join(f"{text!r}\n    {parse_commands(text, 'mergebot')!r}" for text in COMMENTS)
    assert table + "\n" == GOLDEN.read_text(encoding="utf-8"), table


def test_a_verb_with_arguments_carries_them() -> None:
    said = {
        "queue": Plain.QUEUE,
        "retry the network was down": Retry("the network was down"),
        "halt red deploy": Halt("red deploy"),
        "resume": Resume(""),
        "park waiting for legal": Park("waiting for legal"),
        "claim src/** docs/": ExtendClaim(("src/**", "docs/")),
        "revalidate readiness": Answer(Stance.REVALIDATE, "readiness"),
    }
    assert {text: parse_commands(f"@mergebot {text}", "mergebot") for text in said} == said


@pytest.mark.parametrize("handle", ["acme-queue", "c++", "a.b"])
def test_the_handle_is_the_configured_one_and_the_slash_form_stays(handle: str) -> None:
    assert parse_commands(f"@{handle} queue", handle) is Plain.QUEUE
    assert parse_commands("/mergebot queue", handle) is Plain.QUEUE
    assert parse_commands("@mergebot queue", handle) == NoCommand()


@pytest.mark.parametrize(
    ("rest", "word"),
    [
        (f"halt {'x' * (REASON_CHARS_MAX + 1)}", str(REASON_CHARS_MAX)),
        ("claim " + " ".join(map(str, range(CLAIM_PATTERNS_MAX + 1))), str(CLAIM_PATTERNS_MAX)),
        ("park \u200b\u202e", "reason"),
    ],
)
def test_too_much_or_nothing_is_refused_with_the_limit(rest: str, word: str) -> None:
    fault = parse_commands(f"@mergebot {rest}", "mergebot")
    assert isinstance(fault, CommandFault)
    assert word in fault.sentence


@given(st.text())
def test_no_comment_makes_the_parser_raise(text: str) -> None:
    for comment in (text, f"@mergebot {text}", f"/mergebot claim {text}", f"@mergebot halt {text}"):
        answer = parse_commands(comment, "mergebot")
        printable = not isinstance(answer, CommandFault) or answer.sentence.isprintable()
        assert printable, answer
