import base64
import json
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebot.adapters.redact import HELD_BYTES_MAX, PLACEHOLDER, Redactor

SECRET = "p@ss w0rd/for+the~forge"
TOKEN = "ghp_" + "a1B2" * 9
BODY = "\n".join("MIIEowIBAAKCAQEA" + "q7" * 24 for _ in range(12))
WHAT = "RSA PRIVATE KEY-----"
KEY = f"-----BEGIN {WHAT}\n{BODY}\n-----END {WHAT}"


def redactor(*secrets: str) -> Redactor:
    made = Redactor()
    for secret in secrets:
        made.add(secret)
    return made


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
        base64.b64encode(SECRET.encode()).decode().rstrip("="),
    ],
)
def test_a_live_secret_is_hidden_however_it_is_written(form: str) -> None:
    hidden = redactor(SECRET).text(f"before {form} after")
    assert form[2:-3] not in hidden
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")


@pytest.mark.parametrize("before", ["", "x", "xy", "x-access-token:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_is_hidden_inside_longer_base64(before: str, encode: object) -> None:
    assert callable(encode)
    text = encode(f"{before}{SECRET}!".encode()).decode()
    hidden = redactor(SECRET).text(text)
    assert PLACEHOLDER in hidden
    assert len(hidden.replace(PLACEHOLDER, "")) <= len(before) * 2 + 10


def test_a_secret_with_quotes_is_hidden_inside_json() -> None:
    line = json.dumps({"a": 'say "pass\\word" ü'})
    hidden = redactor('"pass\\word" ü').text(line)
    assert json.loads(hidden) == {"a": f"say {PLACEHOLDER}"}


@pytest.mark.parametrize(
    "secret",
    [
        TOKEN,
        "ghs_" + "123456_eyJhbGciOi.eyJpc3M.c2ln-x" * 8,
        "github_pat_" + "11ABCDEFG0" * 5,
        "AKIA" + "IOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3jVmNHl0w5N",
        KEY,
        KEY.replace("\n", "\\n"),
        KEY[:400],
    ],
)
def test_the_shape_of_a_secret_is_enough(secret: str) -> None:
    assert redactor().text(f"see {secret} here") in {
        f"see {PLACEHOLDER} here",
        f"see {PLACEHOLDER}",
    } or (secret == KEY[:400] and "MII" not in redactor().text(secret))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://x-access-token:abc@h/o", "https://x-access-token:[redacted]@h/o"),
        ("https://me:abc@h/o", "https://me:[redacted]@h/o"),
        ("Authorization: Bearer abc", "Authorization: Bearer [redacted]"),
        ("authorization: abc", "authorization: [redacted]"),
        ('{"Authorization": "token abc", "x": 1}', '{"Authorization": "token [redacted]", "x": 1}'),
        ("aws_secret_access_key = " + "k/+" * 13 + "k", "aws_secret_access_key = [redacted]"),
    ],
)
def test_what_stands_where_secrets_stand_is_hidden(text: str, expected: str) -> None:
    assert redactor().text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/o/r/pull/7#issuecomment-1",
        "3f2a91c0" * 5,
        "ssh://git@host:22/o/r.git and foo@example.com",
        "the author needs authorization",
        "a high five on 2026-11-29",
    ],
)
def test_harmless_text_stays(text: str) -> None:
    assert redactor(SECRET).text(text) == text


def test_each_long_line_of_a_key_file_is_hidden_alone() -> None:
    assert redactor(KEY).text(BODY.splitlines()[3]) == PLACEHOLDER


@pytest.mark.parametrize("secret", ["", "short", " abc\n", "redacted"])
def test_a_secret_that_would_blot_out_words_is_not_taken(secret: str) -> None:
    made = Redactor()
    assert not made.add(secret)
    assert made.text("a short redacted abc") == "a short redacted abc"


def test_a_secret_that_opens_nothing_any_more_can_be_forgotten() -> None:
    made = redactor(SECRET)
    made.forget(SECRET)
    assert made.text(SECRET) == SECRET


def test_bytes_that_are_no_text_pass_through() -> None:
    assert redactor(SECRET).data(b"\xff\x00" + SECRET.encode()) == b"\xff\x00[redacted]"


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    made = redactor(SECRET)
    once = made.text(f"Authorization: {text} {SECRET}")
    assert made.text(once) == once
    assert SECRET not in once


@given(st.data())
def test_a_stream_hides_secrets_wherever_its_chunks_end(data: st.DataObject) -> None:
    whole = f"one {SECRET}\ntwo {TOKEN} x\n{KEY}\nlast {SECRET}".encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    stream = redactor(SECRET).stream()
    bounds = [0, *cuts, len(whole)]
    out = b"".join(stream.feed(whole[a:b]) for a, b in pairwise(bounds))
    out += stream.close()
    assert out == redactor(SECRET).data(whole)
    assert b"MII" not in out


def test_a_stream_lets_whole_lines_go_at_once() -> None:
    stream = redactor(SECRET).stream()
    assert stream.feed(b"one\ntwo\nthr") == b"one\ntwo\n"
    assert stream.feed(b"ee\n") == b"three\n"


def test_a_stream_holds_a_bounded_part_of_an_endless_line() -> None:
    stream = redactor(SECRET).stream()
    piece = b"word " * 1000 + SECRET.encode()
    out, fed = b"", 0
    for _ in range(40):
        out += stream.feed(piece)
        fed += len(piece)
        assert fed - len(out) < HELD_BYTES_MAX + 40 * len(piece) // 10
    out += stream.close()
    assert out == redactor(SECRET).data(piece * 40)


def test_a_stream_hides_a_token_longer_than_what_it_holds() -> None:
    stream = redactor().stream()
    out = b"".join(stream.feed(chunk) for chunk in (b"x gh", b"p_", *[b"a1B2" * 5000] * 8, b" end"))
    assert out + stream.close() == b"x [redacted] end"


@pytest.mark.parametrize(
    "piece", [f"-----BEGIN {WHAT}", "eyJ", "ghp_", "://a:", "authorization:", "aws secret=", "a\r"]
)
@pytest.mark.timeout(10)
def test_output_made_to_be_slow_is_not(piece: str) -> None:
    stream, fed = redactor(SECRET).stream(), (piece * 100_000).encode()[:400_000]
    out = b"".join(stream.feed(fed[at : at + 4096]) for at in range(0, len(fed), 4096))
    assert len(out + stream.close()) <= 2 * len(fed)
