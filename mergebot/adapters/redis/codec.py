"""Domain values as JSON and back, directed by their types.

A frozen dataclass becomes an object with its fields; where a field allows several classes, it
becomes the pair of the class's name, as its tag, and that object. Reading checks every field
again, because what lies in Redis may have been written by another version, or by hand.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from mergebot.domain.ids import Sha, parse_sha
from mergebot.ports.errors import Refused

T = TypeVar("T")
Turn = Callable[[Any], Any]

_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_loads = json.JSONDecoder().decode


class Unreadable(Refused):
    """A record is not what this version of mergebot writes; the text names its key."""


class _Fault(Exception):
    """One wrong value; the text starts with the path to it."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How values of one type are written and read; `plain` ones are written as they are."""

    write: Turn
    read: Turn
    plain: bool = False


def encode(hint: Any, value: object) -> str:
    """Return `value`, which must be of the type `hint`, as one line of ASCII JSON."""
    return _dumps(_plan(hint).write(value))


def decode(hint: type[T], text: bytes | str, *, where: str) -> T:
    """Return the value of the type `hint` written as `text`.

    Raises Unreadable, naming the Redis key `where`, for anything that `encode` would not write.
    """
    return cast("T", decoder(hint, where=where)(text))


def decoder(hint: Any, *, where: str) -> Callable[[bytes | str], Any]:
    """Return `decode` for one type and key, for reading many values."""
    read = _plan(hint).read

    def decode_one(text: bytes | str) -> Any:
        try:
            return read(_loads(text if isinstance(text, str) else text.decode()))
        except (_Fault, ValueError) as fault:
            raise Unreadable(
                f"the record in {where} cannot be read by this version of mergebot: {fault}"
            ) from None

    return decode_one


@cache
def _plan(hint: Any) -> _Plan:
    """Return the plan for a type as it is written in an annotation."""
    if hint in _LEAVES:
        return _LEAVES[hint]
    origin = get_origin(hint)
    if origin is Union or isinstance(hint, UnionType):
        return _union(get_args(hint))
    if origin is tuple:
        return _sequence(_plan(get_args(hint)[0]))
    if origin is Mapping:
        return _mapping(*get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return _record(hint)
    raise TypeError(f"the codec has no form for {hint!r}; give it one in codec.py")


def _leaf(kind: type) -> _Plan:
    def read(found: Any) -> Any:
        if type(found) is not kind:
            raise _Fault(f" is {found!r:.80}, not {_NAMES[kind]}")
        return found

    return _Plan(_same, read, plain=True)


def _same(value: Any) -> Any:
    return value


def _read_float(found: Any) -> float:
    if type(found) is float:
        return found
    if type(found) is int:
        return float(found)
    raise _Fault(f" is {found!r:.80}, not a number")


def _read_sha(found: Any) -> Sha:
    if type(found) is not str:
        raise _Fault(f" is {found!r:.80}, not a commit id")
    try:
        return parse_sha(found)
    except ValueError as error:
        raise _Fault(f": {error}") from None


_NAMES = {str: "text", int: "a whole number", bool: "true or false", NoneType: "null"}

_LEAVES: dict[type | NewType, _Plan] = {
    **{kind: _leaf(kind) for kind in _NAMES},
    float: _Plan(_same, _read_float, plain=True),
    Sha: _Plan(_same, _read_sha, plain=True),
}


def _enum(kind: type[Enum]) -> _Plan:
    members = {member.value: member for member in kind}

    def read(found: Any) -> Enum:
        member = members.get(found) if isinstance(found, str | int) else None
        if member is None:
            raise _Fault(f" is {found!r:.80}, not one of {', '.join(map(str, members))}")
        return member

    return _Plan(attrgetter("value"), read)


def _sequence(item: _Plan) -> _Plan:
    def read(found: Any) -> tuple[Any, ...]:
        if type(found) is not list:
            raise _Fault(f" is {found!r:.80}, not a list")
        return tuple(map(item.read, found))

    if item.plain:
        return _Plan(_same, read, plain=True)
    return _Plan(lambda values: list(map(item.write, values)), read)


def _mapping(key: Any, value: Any) -> _Plan:
    item = _plan(value)

    def read(found: Any) -> dict[Any, Any]:
        if type(found) is not dict:
            raise _Fault(f" is {found!r:.80}, not an object")
        return {key(name): item.read(each) for name, each in found.items()}

    return _Plan(lambda values: {str(k): item.write(v) for k, v in values.items()}, read)


def _union(options: tuple[Any, ...]) -> _Plan:
    """Return the plan for several classes told apart by tag, or for one type that may be null."""
    some = [option for option in options if option is not NoneType]
    optional = len(some) < len(options)
    if len(some) == 1:
        one = _plan(some[0])
        return _Plan(
            lambda value: None if value is None else one.write(value),
            lambda found: None if found is None else one.read(found),
            plain=one.plain,
        )
    writers = {option: _plan(option).write for option in some}
    readers = {option.__name__: _plan(option).read for option in some}

    def write(value: Any) -> Any:
        if value is None and optional:
            return None
        return [type(value).__name__, writers[type(value)](value)]

    def read(found: Any) -> Any:
        if found is None and optional:
            return None
        match found:
            case [str(tag), document] if tag in readers:
                return readers[tag](document)
            case _:
                raise _Fault(f" is {found!r:.80}, not tagged as one of {', '.join(readers)}")

    return _Plan(write, read)


def _record(kind: type[Any]) -> _Plan:
    """Return the plan for a dataclass; a field that has a default may be absent."""
    hints = get_type_hints(kind)
    names = tuple(field.name for field in fields(kind))
    plans = {name: _plan(hints[name]) for name in names}
    optional = {
        field.name
        for field in fields(kind)
        if field.default is not MISSING or field.default_factory is not MISSING
    }
    composed = [(name, plans[name].write) for name in names if not plans[name].plain]
    readers = [(name, plans[name].read) for name in names]

    def write(value: Any) -> dict[str, Any]:
        document = {name: getattr(value, name) for name in names}
        for name, each in composed:
            document[name] = each(document[name])
        return document

    def read(found: Any) -> Any:
        if type(found) is dict and len(found) == len(names):
            try:
                return kind(*[each(found[name]) for name, each in readers])
            except (_Fault, KeyError):
                return carefully(found)
        return carefully(found)

    def carefully(found: Any) -> Any:
        if type(found) is not dict:
            raise _Fault(f" is {found!r:.80}, not an object")
        for name in names:
            if name not in found and name not in optional:
                raise _Fault(f".{name} is missing")
        for name in found:
            if name not in plans:
                raise _Fault(f".{name:.80} is no field of {kind.__name__}")
        return kind(**{name: _at(name, plans[name].read, found[name]) for name in found})

    return _Plan(write, read)


def _at(name: str, read: Turn, found: Any) -> Any:
    try:
        return read(found)
    except _Fault as fault:
        raise _Fault(f".{name}{fault}") from None
