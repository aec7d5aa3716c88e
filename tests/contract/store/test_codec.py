import dataclasses
import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mergebot.adapters.redis.codec import Unreadable, decode, decoder, encode
from mergebot.domain.candidate import Candidate, Queued, State
from mergebot.domain.effects import Effect
from mergebot.domain.gate import GateResult
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import LaneState, Run, RunOrder, RunProgress
from mergebot.domain.story import Entry
from mergebot.ports.store import NoticeRecord, SeenHead
from tests.support.sample import candidate

LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(st.characters(), max_size=20),
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    types.NoneType: st.none(),
    Sha: st.binary(min_size=20, max_size=20).map(bytes.hex),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Build any value that an annotation allows."""
    if hint in LEAVES:
        return LEAVES[hint]
    if isinstance(hint, types.UnionType) or get_origin(hint) is Union:
        return st.one_of([values(option) for option in get_args(hint)])
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=3).map(tuple)
    if get_origin(hint) is Mapping:
        return st.dictionaries(*map(values, get_args(hint)), max_size=3)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    hints = get_type_hints(hint)
    fields = {field.name: values(hints[field.name]) for field in dataclasses.fields(hint)}
    return st.builds(hint, **fields)


KEPT = [
    *(Candidate, LaneState, Run, RunOrder, RunProgress, Lane, Entry, NoticeRecord),
    *(Effect, GateResult, Mapping[int, SeenHead]),
]


@pytest.mark.parametrize("hint", KEPT, ids=str)
@settings(max_examples=60)
@given(data=st.data())
def test_what_is_kept_comes_back_equal(hint: Any, data: st.DataObject) -> None:
    value = data.draw(values(hint))
    text = encode(hint, value)
    assert decoder(hint, where="key")(text.encode()) == value
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize("state", get_args(State), ids=lambda state: str(state.__name__))
@settings(max_examples=60)
@given(data=st.data())
def test_a_candidate_comes_back_in_every_state(state: Any, data: st.DataObject) -> None:
    value = candidate(data.draw(values(state)))
    assert decode(Candidate, encode(Candidate, value), where="key") == value


GOOD = encode(Candidate, candidate(Queued()))
STATE = '["Queued",{"company":["Alone",{}]}]'
BROKEN = {
    "an unknown tag": GOOD.replace(STATE, '["Dreaming",{}]'),
    "no tag": GOOD.replace(STATE, "{}"),
    "a missing field": GOOD.replace('"pr":7,', ""),
    "an unknown field": GOOD.replace('"pr":7,', '"pr":7,"colour":"red",'),
    "an unknown field of a state": GOOD.replace(STATE, '["Queued",{"a":1}]'),
    "text for a number": GOOD.replace('"pr":7', '"pr":"7"'),
    "true for a number": GOOD.replace('"pr":7', '"pr":true'),
    "no commit id": GOOD.replace('"head":"' + "a" * 40, '"head":"--upload-pack=x'),
    "an unknown value": GOOD.replace('"kind":"normal"', '"kind":"odd"'),
    "a list for an object": GOOD.replace('"budget":{', '"budget":[{').replace(
        '},"state', '}],"state'
    ),
    "another JSON": "[]",
    "no JSON": GOOD[:-1],
    "nothing": "",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_record_is_one_error_that_names_its_key(text: str) -> None:
    assert text != GOOD
    with pytest.raises(Unreadable, match="mb:here"):
        decode(Candidate, text, where="mb:here")


def test_the_error_names_the_field() -> None:
    with pytest.raises(Unreadable, match=r"\.enqueued_by\.id is 'x', not a whole number"):
        decode(
            Candidate, GOOD.replace('"enqueued_by":{"id":11', '"enqueued_by":{"id":"x"'), where="k"
        )


def test_a_field_with_a_default_may_be_absent_so_that_new_fields_can_be_added() -> None:
    assert decode(LaneState, "{}", where="key") == LaneState()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_has_no_word_for_is_refused_before_it_is_written(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(Entry, Entry(number, 7, "note", ""))


def test_a_type_without_a_form_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="bytes"):
        encode(tuple[bytes, ...], (b"",))
