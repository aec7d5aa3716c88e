"""What Redis may lose: its last writes, where it fell before it had written them, or everything."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

Kept = Sequence[Mapping[str, Any]]


def keep(parts: Sequence[object]) -> Kept:
    """Return what the memory adapters hold now, untouched by what they are told later."""
    return [
        {name: _copy(value) for name, value in vars(part).items() if _is_data(value)}
        for part in parts
    ]


def put_back(parts: Sequence[object], kept: Kept) -> None:
    """Let the memory adapters hold what they held when it was kept."""
    for part, values in zip(parts, kept, strict=True):
        vars(part).update({name: _copy(value) for name, value in values.items()})


def _frozen(value: object) -> bool:
    parameters = getattr(type(value), "__dataclass_params__", None)
    return bool(getattr(parameters, "frozen", False))


def _is_data(value: object) -> bool:
    return isinstance(value, dict | list | set | int)


def _copy(value: Any) -> Any:
    """Copy containers and records that change; values that cannot change are shared."""
    match value:
        case dict():
            return {key: _copy(each) for key, each in value.items()}
        case list():
            return [_copy(each) for each in value]
        case set():
            return set(value)
        case _ if is_dataclass(value) and not _frozen(value):
            copied = object.__new__(type(value))
            for each in fields(value):
                setattr(copied, each.name, _copy(getattr(value, each.name)))
            return copied
        case _:
            return value
