import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from mergebot.adapters.git.objects import parse_commit
from mergebot.adapters.git.porcelain import Fate, parse
from mergebot.adapters.git.process import Answer
from mergebot.adapters.memory.clock import ManualClock
from mergebot.adapters.memory.inbox import MemoryInbox
from mergebot.adapters.sealed_inbox import SealedInbox
from mergebot.adapters.signing import KeyNotary
from mergebot.domain.dsse import envelope_of
from mergebot.domain.ids import Sha
from mergebot.domain.proving import Link, flaw_of, prove
from mergebot.domain.receipts import Receipt
from mergebot.services.vouching import signed, signed_here
from mergebot.web.bodies import depth
from mergebot.web.forms import inner
from mergebot.web.session import read

NOTARY = KeyNotary(Ed25519PrivateKey.generate())
COMMIT = Sha("a" * 40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=3,
)
KEYS = st.sampled_from(["dsse", "payload", "payloadType", "signatures", "keyid", "sig", "merged"])
RECEIPTS = st.dictionaries(KEYS | st.text(), JSON | st.dictionaries(KEYS, JSON))
ROWS = st.lists(
    st.tuples(
        st.sampled_from("!=*+- x"),
        st.sampled_from(["a:refs/heads/main", ":refs/notes/mergebot", "refs/heads/main", ""]),
        st.sampled_from(["[rejected] (stale info)", "[rejected] (atomic push failed)", "x..y"])
        | st.text(max_size=40),
    )
)


@given(RECEIPTS)
def test_a_note_of_any_shape_is_judged_and_never_believed(fields: dict[str, Any]) -> None:
    receipt = Receipt(json.dumps(fields))
    assert flaw_of(receipt, NOTARY.signed) is not None
    assert not signed_here(NOTARY, receipt)
    proof = prove([Link(COMMIT, "t")], {COMMIT: receipt}, NOTARY.signed, since=None)
    assert not proof.whole


@given(RECEIPTS)
def test_what_was_signed_is_known_again_and_its_name_stays(fields: dict[str, Any]) -> None:
    plain = Receipt(json.dumps({key: value for key, value in fields.items() if key != "dsse"}))
    sealed = signed(NOTARY, plain)
    assert signed_here(NOTARY, sealed)
    assert sealed.digest == plain.digest
    assert envelope_of(sealed) is not None


@given(ROWS, st.binary(max_size=200))
def test_whatever_a_push_prints_no_ref_is_done_that_git_marked_as_refused(
    rows: list[tuple[str, str, str]], noise: bytes
) -> None:
    out = noise + b"\n" + "".join("\t".join(row) + "\n" for row in rows).encode()
    for result in parse(Answer(0, out, "", cut=False)).values():
        assert isinstance(result.fate, Fate)
    lost = b"!\ta:refs/heads/main\t[rejected] (stale info)\n"
    assert parse(Answer(1, lost, "", cut=False))["refs/heads/main"].fate is Fate.STALE


@given(st.binary(max_size=400))
def test_a_commit_of_any_bytes_is_read_or_lacks_its_tree(raw: bytes) -> None:
    # git lets no object in whose headers are malformed; everything after them is the author's.
    head = b"tree " + b"b" * 40 + b"\nparent " + b"c" * 40 + b"\n"
    raw = raw.replace(b"parent", b"")
    commit = parse_commit("a" * 40, head + raw)
    assert commit.tree == "b" * 40
    assert isinstance(commit.decoded(commit.message), str)


@given(st.text())
def test_no_cookie_opens_a_session_that_was_not_made_here(value: str) -> None:
    assert read(NOTARY, value, 0.0) is None


@given(st.text())
def test_no_address_leads_out_of_the_pages(address: str) -> None:
    found = inner(address)
    assert found.startswith("/")
    assert not found.startswith(("//", "/\\"))


@given(st.binary(max_size=300))
def test_the_depth_of_anything_is_a_number(body: bytes) -> None:
    assert depth(body) >= 0


@given(st.binary(), st.text(max_size=20))
def test_no_delivery_is_opened_that_was_not_sealed(body: bytes, guid: str) -> None:
    inner_inbox = MemoryInbox(ManualClock(1.0))
    inner_inbox.put(guid, "push", body)
    inbox = SealedInbox(inner_inbox, NOTARY)
    assert inbox.take(limit=10) == []
    assert inbox.aside() == 1
    inbox.put(f"{guid}2", "push", body)
    assert [each.body for each in inbox.take(limit=10)] == [body]
