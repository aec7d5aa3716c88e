"""Whether an answer or a webhook has the shape that GitHub's own description gives it."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

from jsonschema.protocols import Validator
from openapi_schema_validator import OAS30Validator, OAS31Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tests.support import octokit

BASIC_ERROR = "#/components/schemas/basic-error"
FAULTS_SHOWN = 12
_VARIABLE = re.compile(r"\{[^}]+\}")
_NULL = (["head", "repo"], "description")
_PROTOCOL = {301, 304, 307}
_TELLING = ("state", "status", "conclusion", "type", "association", "reason", "event", "selection")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One answer of the forge to one request."""

    method: str
    path: str
    status: int
    body: Any


@dataclass
class Tally:
    """What was compared, and what did not fit: one sentence each."""

    routes: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Description:
    """A document of schemas, and validators of its parts."""

    def __init__(self, document: Any, kind: type[Validator]) -> None:
        self.document = document
        self._kind = kind
        resource = Resource.from_contents(document, default_specification=DRAFT202012)
        self._registry: Registry[Any] = Registry().with_resource("urn:github", resource)
        self._made: dict[str, Validator] = {}

    def faults(self, pointer: str, value: Any) -> list[str]:
        """Return how `value` misses the schema at `pointer`."""
        if pointer not in self._made:
            reference = {"$ref": f"urn:github{pointer}"}
            self._made[pointer] = self._kind(reference, registry=self._registry)
        errors = self._made[pointer].iter_errors(value)
        return [
            f"{'/'.join(map(str, error.absolute_path))}: {_brief(error)}"
            for error in errors
            if not _known(error)
        ]


def _known(error: Any) -> bool:
    """Tell whether the description is wrong here, and what GitHub really says is what we say.

    It forgets null among the values of what it calls nullable, and calls these never null though
    GitHub's answers hold it: a label without description, the repository of a deleted fork.
    """
    if list(error.absolute_path)[-1:] == ["account"] and error.validator == "required":
        return True  # an installation's account would have to be a user and an enterprise at once
    if error.instance is not None or not error.absolute_path:
        return False
    nullable = isinstance(error.schema, dict) and error.schema.get("nullable") is True
    return nullable or list(error.absolute_path)[-2:] in _NULL or error.absolute_path[-1] in _NULL


def _brief(error: Any) -> str:
    inner = sorted(error.context or [], key=lambda each: len(each.absolute_path))
    said = str(inner[-1].message if inner else error.message)
    return said if len(said) < 300 else f"{said[:120]} ... {said[-160:]}"


@cache
def rest() -> Description:
    """Return the description of the REST API."""
    return Description(octokit.load(octokit.REST), OAS30Validator)


@cache
def webhooks() -> Description:
    """Return the description of webhooks."""
    return Description(octokit.load(octokit.WEBHOOKS), OAS31Validator)


@cache
def _routes() -> list[tuple[int, re.Pattern[str], str]]:
    """Return every path of the API as a pattern, those with the fewest variables first."""
    found = []
    for path in rest().document["paths"]:
        pattern = _VARIABLE.sub("[^/]+", re.escape(path).replace(r"\{", "{").replace(r"\}", "}"))
        # A ref, a branch or a file's path is one variable in the description and may hold slashes.
        pattern = re.sub(r"\[\^/\]\+$", ".+", pattern) if _takes_rest(path) else pattern
        found.append((path.count("{"), re.compile(pattern), path))
    return sorted(found, key=lambda each: (each[0], -len(each[2])))


def _takes_rest(path: str) -> bool:
    return path.endswith(("{ref}", "{branch}", "{path}", "{basehead}", "{name}"))


def route_of(path: str) -> str | None:
    """Return the described path that an address below the API's base belongs to."""
    return next((route for _, pattern, route in _routes() if pattern.fullmatch(path)), None)


def compare_exchange(exchange: Exchange, tally: Tally) -> None:
    """Compare one answer with what the description says of its route and status."""
    route = route_of(unquote(urlsplit(exchange.path).path))
    verb = exchange.method.lower()
    known = rest().document["paths"].get(route or "", {}).get(verb)
    if route is None or known is None:
        tally.counts["outside the description"] += 1
        return
    name = f"{exchange.method} {route} {exchange.status}"
    tally.routes.add(f"{exchange.method} {route}")
    tally.counts["answers"] += 1
    faults = _compare(exchange, route, verb, known)
    if exchange.status >= 400:
        tally.counts["error bodies"] += 1
    tally.counts["valid"] += not faults
    tally.faults += [f"{name}: {fault}" for fault in faults]


def _compare(exchange: Exchange, route: str, verb: str, known: Mapping[str, Any]) -> list[str]:
    answer = known["responses"].get(str(exchange.status))
    escaped = route.replace("~", "~0").replace("/", "~1")
    pointer = f"#/paths/{escaped}/{verb}/responses/{exchange.status}"
    if answer is not None and "$ref" in answer:
        pointer = answer["$ref"]
        answer = rest().document["components"]["responses"][pointer.rsplit("/", 1)[1]]
    if exchange.status in _PROTOCOL:
        return []
    if exchange.status >= 400:
        own = "application/json" in (answer or {}).get("content", {})
        place = f"{pointer}/content/application~1json/schema" if own else BASIC_ERROR
        missing = {"message", "documentation_url"} - set(exchange.body or {})
        return rest().faults(_quoted(place), exchange.body) + [f"no {each}" for each in missing]
    if answer is None:
        return [f"a status that is not described; {', '.join(known['responses'])} are"]
    content = answer.get("content", {}).get("application/json")
    if content is None:
        return ["has a body, which is not described"] if exchange.body is not None else []
    return rest().faults(_quoted(f"{pointer}/content/application~1json/schema"), exchange.body)


def _quoted(pointer: str) -> str:
    return pointer.replace("{", "%7B").replace("}", "%7D")


def compare_webhook(event: str, payload: Mapping[str, Any], tally: Tally) -> None:
    """Compare one webhook with its description; events of the forge's own have none."""
    action = payload.get("action")
    name = f"{event}.{action}" if action else event
    key = name.replace("_", "-").replace(".", "-")
    if key not in webhooks().document["webhooks"]:
        tally.counts["events outside the description"] += 1
        tally.faults.append(f"webhook {name}: is not described")
        return
    pointer = f"#/webhooks/{key}/post/requestBody/content/application~1json/schema"
    faults = webhooks().faults(pointer, payload)
    tally.counts["webhooks"] += 1
    tally.counts["valid webhooks"] += not faults
    tally.faults += [f"webhook {name}: {fault}" for fault in faults]


def shape(value: Any, key: str = "") -> str:
    """Return what a schema sees of a value: two values of one shape need one comparison."""
    match value:
        case dict():
            return "{" + ",".join(f"{k}:{shape(v, k)}" for k, v in sorted(value.items())) + "}"
        case list():
            return "[" + "|".join(sorted({shape(each, key) for each in value})) + "]"
        case str() if key.endswith(_TELLING) and len(value) <= 40:
            return f"'{value}'"
        case _:
            return type(value).__name__


def distinct(name: Callable[[Any], str]) -> Callable[[Any], bool]:
    """Return what tells whether something of this name was not seen before."""
    seen: set[str] = set()

    def new(value: Any) -> bool:
        called = name(value)
        if called in seen:
            return False
        seen.add(called)
        return True

    return new
