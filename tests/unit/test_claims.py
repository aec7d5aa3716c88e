import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebot.domain.claims import ClaimBlock, ClaimFaults, NoBlock, parse_claim_block
from mergebot.domain.limits import CLAIM_PATTERNS_MAX, CONFIG_BYTES_MAX
from mergebot.domain.patterns import PatternFault, parse

BLOCK = """\
```mergebot
task = "AUTH-142"
claims = ["src/auth/**", "tests/auth/test_login.py"]
assumes = ["readiness@3f2a91c"]
```"""
REVISION = "it must be contract@revision, such as readiness@3f2a91c."
CLAIM = ClaimBlock("AUTH-142", ("src/auth/**", "tests/auth/test_login.py"), ("readiness@3f2a91c",))


def fenced(text: str) -> str:
    return f"```mergebot\n{text}\n```"


def faults(text: str) -> tuple[str, ...]:
    refused = parse_claim_block(fenced(text))
    assert isinstance(refused, ClaimFaults)
    return refused.faults


@pytest.mark.parametrize(
    "body",
    [
        BLOCK,
        f"Adds a login.\n\n{BLOCK}\n\nThanks!",
        f"Adds a login.\r\n\r\n{BLOCK}\r\n".replace("\n", "\r\n").replace("\r\r", "\r"),
        BLOCK.replace("```", "~~~~"),
        BLOCK.replace("```mergebot", "``` mergebot"),
        BLOCK.replace("```mergebot", "```MergeBot toml"),
        "\n".join(f"  {line}" for line in BLOCK.split("\n")),
        f"<!-- what is this about? -->\n{BLOCK}",
        f"<!--\n```\n-->\n{BLOCK}",
        f"```sh\necho hi\n```\n{BLOCK}",
        f"see <!-- this\n{BLOCK}",
        f"{BLOCK}\n\n```toml\ntask = 5\n```",
    ],
)
def test_the_block_that_a_reader_sees_is_the_claim(body: str) -> None:
    assert parse_claim_block(body) == CLAIM


@pytest.mark.parametrize(
    "body",
    [
        "",
        "No claim here, but `mergebot` is named.",
        f"````markdown\n{BLOCK}\n````",
        f"~~~\n{BLOCK}\n~~~",
        f"```\n{BLOCK.replace('```', '~~~')}\n```",
        "\n".join(f"> {line}" for line in BLOCK.split("\n")),
        "\n".join(f"    {line}" for line in BLOCK.split("\n")),
        f"<!--\n{BLOCK}\n-->",
        f"<!-- a -->\n<!--\n{BLOCK}\n-->",
        f"<pre>\n{BLOCK}\n</pre>",
        f"<!-- never closed\n{BLOCK}",
        f"```\nnever closed\n~~~\n{BLOCK.replace('```', '~~~')}",
        BLOCK.replace("```mergebot", "```mergebots"),
        BLOCK.replace("```mergebot", "```mergebot `x`").removesuffix("\n```"),
    ],
)
def test_a_block_that_is_quoted_hidden_or_shown_as_code_is_none(body: str) -> None:
    assert parse_claim_block(body) == NoBlock()


def test_a_claim_may_leave_out_what_it_assumes_and_repeats_count_once() -> None:
    body = fenced('task = " #12 "\nclaims = ["a", "a", "b/"]')
    assert parse_claim_block(body) == ClaimBlock("#12", ("a", "b/"))


def test_two_blocks_are_refused() -> None:
    assert parse_claim_block(f"{BLOCK}\n{BLOCK}") == ClaimFaults(
        ("The description has 2 mergebot blocks; only one is allowed.",)
    )


def test_a_block_that_is_not_closed_is_refused() -> None:
    assert parse_claim_block(BLOCK.removesuffix("\n```")) == ClaimFaults(
        ("The mergebot block is not closed; end it with ```.",)
    )


def test_every_fault_is_told_at_once() -> None:
    climbing = parse("../x")
    assert isinstance(climbing, PatternFault)
    assert faults('task = 5\nclaim = []\nclaims = ["../x", 3]\nassumes = ["readiness@3"]') == (
        "claim is no known key; perhaps claims is meant; the keys here are task, claims, assumes.",
        "task is the number 5; it must be one line of 1 to 200 characters.",
        f"claims[1]: {climbing.sentence}",
        "claims[2] is the number 3; it must be a pattern such as src/**.",
        f'assumes[1] is the text "readiness@3"; {REVISION}',
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "task is missing; it must be one line of 1 to 200 characters."),
        ('task = " "', 'task is the text " "; it must be one line of 1 to 200 characters.'),
        (f'task = "{"x" * 201}"', "task has 201 characters; it must be one line of 1 to 200 characters."),
        ('task = "a\\nb"', 'task is the text "a\\x0ab"; it must be one line of 1 to 200 characters.'),
        ("claims = []", "claims is an empty list; it must be a list of 1 to 200 patterns."),
        ('claims = "src/**"', 'claims is the text "src/**"; it must be a list of 1 to 200 patterns.'),
        (f"claims = {['a'] * (CLAIM_PATTERNS_MAX + 1)}", "claims is a list of 201; it must be a list of 1 to 200 patterns."),
        ("assumes = 1", "assumes is the number 1; it must be a list of up to 200 contracts with their revision."),
        ("task = ", 'The mergebot block is not valid TOML at line 1, column 8, where it ends: "Invalid value".'),
        ("x = 1\ny = = 2", 'The mergebot block is not valid TOML at line 2, column 5: "Invalid value".'),
        ("a = " + "[" * 5000, "The mergebot block nests values too deeply."),
        ("#" * (CONFIG_BYTES_MAX + 1), "The mergebot block has 65537 characters; at most 65536 are allowed."),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_what_was_found_and_what_is_allowed(text: str, sentence: str) -> None:
    assert sentence in faults(text)


@given(
    st.text(), st.sampled_from(["{}", "```mergebot\n{}\n```", BLOCK + "\n{}", "<!-- {}\n" + BLOCK])
)
def test_no_description_makes_the_parser_raise(text: str, frame: str) -> None:
    claim = parse_claim_block(frame.replace("{}", text))
    assert isinstance(claim, ClaimBlock | NoBlock | ClaimFaults)


values = st.recursive(
    st.sampled_from(["1", "true", "1.5", "nan", "-inf", "1979-05-27", "07:32:00", '""', '"a/**"']),
    lambda inner: st.lists(inner, max_size=3).map(lambda v: f"[{', '.join(v)}]"),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["task", "claims", "assumes", '"a b"']), values))
def test_no_value_makes_the_parser_raise(table: dict[str, str]) -> None:
    for fault in faults("\n".join(f"{key} = {value}" for key, value in table.items())):
        assert fault.endswith(".")
        assert fault.isprintable()
