"""Reading `.mergebot.toml`: the whole file becomes a Policy, or every fault becomes a sentence."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ValidationError

from mergebot.adapters.policy_model import External, Fleet, GateStep, Rules, Section
from mergebot.domain.branch_rules import OWN_CHECK
from mergebot.domain.gate import ExternalChecks, GateSpec, Pin, Step
from mergebot.domain.limits import CONFIG_BYTES_MAX
from mergebot.domain.names import shown
from mergebot.domain.policy import (
    BudgetPolicy,
    ClaimPolicy,
    Contract,
    Culprit,
    FleetPolicy,
    HealthPolicy,
    Hedging,
    Method,
    Policy,
    PolicyFaults,
    QueuePolicy,
    StepOrder,
)
from mergebot.domain.tables import Table, TableFault, bare, found, read_table, unknown_key

Place = tuple[int | str, ...]
T = TypeVar("T")


class TomlRules:
    """Reads the rules from the bytes of the file; it never raises."""

    def parse(self, text: bytes) -> Policy | PolicyFaults:
        """Return the rules, or every fault at once, one sentence each."""
        if len(text) > CONFIG_BYTES_MAX:
            return PolicyFaults(
                (f"The file has {len(text)} bytes; at most {CONFIG_BYTES_MAX} are allowed.",)
            )
        try:
            written = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = text[: error.start].split(b"\n")
            place = f"line {len(before)}, column {len(before[-1]) + 1}"
            return PolicyFaults((f"The file is not valid UTF-8 at {place}.",))
        table = read_table(written, name="The file")
        if isinstance(table, TableFault):
            return PolicyFaults((table.sentence,))
        return _policy(table)


@cache
def keys() -> Mapping[str, str]:
    """Return every key that the file may have, dotted, with what is allowed there."""
    return dict(_described(Rules, ""))


def _policy(table: Table) -> Policy | PolicyFaults:
    try:
        rules = Rules.model_validate(table)
    except ValidationError as error:
        wrong = [_sentence(each, table) for each in error.errors(include_url=False)]
        return PolicyFaults((*wrong, *_contradictions(table)))
    faults = tuple(_contradictions(table))
    return PolicyFaults(faults) if faults else _values(rules)


def _sentence(error: Any, table: Table) -> str:
    place: Place = error["loc"]
    kind, key = error["type"], _key(place)
    if kind == "extra_forbidden":
        parent = place[:-1]
        return unknown_key(str(place[-1]), _allowed_in(parent), inside=_key(parent))
    if place[0] == "contracts" and place[2:] == ("[key]",):
        name = _key(place[:-1])
        return f"{name} is no name for a contract; contracts must be {keys()['contracts']}."
    listed = isinstance(place[-1], int)
    owner = place[:-1] if listed else place
    must = f"{_key(owner)} must be" if listed else "it must be"
    allowed_text = keys()[".".join(_generic(owner))]
    if kind == "sentence":
        return f"{key}: {error['ctx']['sentence']}"
    if kind == "missing":
        return f"{key} is missing; {must} {allowed_text}."
    return f"{key} is {found(_value(table, place))}; {must} {allowed_text}."


def _key(place: Sequence[int | str]) -> str:
    """Return the dotted key of a place; entries of a list are counted from 1."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f"{'.' if text else ''}{bare(part)}"
    return text


def _generic(place: Place) -> list[str]:
    """Return the place without indexes and without the contract's own name."""
    named = [part for part in place if isinstance(part, str)]
    if len(named) > 1 and named[0] == "contracts":
        named[1] = "*"
    return named


def _value(table: Table, place: Place) -> object:
    value: Any = table
    for part in place:
        value = value[part]
    return value


def _allowed_in(place: Place) -> list[str]:
    """Return the keys of the table at `place`."""
    prefix = "".join(f"{part}." for part in _generic(place))
    inside = [key.removeprefix(prefix) for key in keys() if key.startswith(prefix)]
    return [key for key in inside if "." not in key and key != "*"]


def _described(model: type[Section], prefix: str) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}", field.description or ""
        inside = f"{prefix}{name}."
        sections = [
            each
            for each in (field.annotation, *get_args(field.annotation))
            if isinstance(each, type) and issubclass(each, Section)
        ]
        if sections and get_origin(field.annotation) is dict:
            inside += "*."
            yield inside[:-1], "a table"
        for each in sections:
            yield from _described(each, inside)


def _contradictions(table: Table) -> Iterator[str]:
    """Say what is wrong between keys; a value of the wrong kind has its own sentence already."""
    queue, gate = _table(table, "queue"), _table(table, "gate")
    yield from _repeated_labels(queue)
    yield from _repeated_variables(_texts(gate, "environment"))
    yield from _tangled_steps(gate.get("steps"))
    yield from _unknown_tests(_table(table, "contracts"), gate.get("steps"))
    external = _table(gate, "external")
    checks = _texts(external, "checks")
    for name in _texts(external, "skippable"):
        if name not in checks:
            yield f"gate.external.skippable names {shown(name)}, which gate.external.checks does not."
    for name in _table(external, "producers"):
        if name not in checks:
            yield f"gate.external.producers names {shown(name)}, which gate.external.checks does not."
    if OWN_CHECK in checks:
        yield f'gate.external.checks names "{OWN_CHECK}", which is the bot\'s own; name checks of others.'
    if gate.get("setup") and gate.get("keep") == []:
        yield "gate.setup is set, but gate.keep is empty: nothing of what it makes would be kept."
    check = _table(table, "health").get("check")
    if check in ("external", "both") and not checks:
        yield f'health.check is "{check}", but gate.external.checks is empty.'


def _unknown_tests(contracts: Table, steps: object) -> Iterator[str]:
    entries = steps if isinstance(steps, list) else []
    known = [step.get("name") for step in entries if isinstance(step, dict)]
    for contract in contracts:
        for name in _texts(_table(contracts, contract), "tests"):
            if name not in known:
                place = f"contracts.{bare(contract)}.tests"
                yield f"{place} names {shown(name)}, which is no step of the gate."


def _repeated_labels(queue: Table) -> Iterator[str]:
    names = {
        key: value
        for key in ("label", "fix_label", "hold_label")
        if isinstance(value := queue.get(key, Rules().queue.model_dump()[key]), str)
    }
    for key, value in names.items():
        for other in list(names)[: list(names).index(key)]:
            if value.casefold() == names[other].casefold():
                yield f"queue.{key} and queue.{other} are both {shown(value)}; they must differ."


def _repeated_variables(environment: Sequence[str]) -> Iterator[str]:
    names = [entry.partition("=")[0] for entry in environment]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"gate.environment sets {shown(name)} more than once."


def _tangled_steps(steps: object) -> Iterator[str]:
    entries = steps if isinstance(steps, list) else []
    earlier: list[str] = []
    for number, entry in enumerate(entries, 1):
        step = entry if isinstance(entry, dict) else {}
        for name in _texts(step, "needs"):
            if name not in earlier:
                known = ", ".join(earlier) or "none"
                yield (
                    f"gate.steps[{number}].needs names {shown(name)}, which is no earlier step; "
                    f"earlier steps: {known}."
                )
        own = step.get("name")
        if isinstance(own, str):
            if own in earlier:
                yield f"gate.steps[{number}].name is {shown(own)} again; each step has its own."
            earlier.append(own)


def _table(table: Table, key: str) -> Table:
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def _texts(table: Table, key: str) -> list[str]:
    value = table.get(key)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _values(rules: Rules) -> Policy:
    queue, external = rules.queue, rules.gate.external
    return Policy(
        gate=_gate(rules),
        trunk=rules.trunk,
        order=StepOrder(rules.gate.order),
        queue=QueuePolicy(
            label=queue.label,
            fix_label=queue.fix_label,
            hold_label=queue.hold_label,
            actors=_unique(queue.actors),
            method=Method(queue.method),
            window=queue.window,
            batch=queue.batch,
            require_approvals=queue.require_approvals,
            fork_pull_requests=queue.fork_pull_requests,
            share=queue.share,
            hedge=Hedging(queue.hedge),
        ),
        external=_external(external),
        claims=ClaimPolicy(
            required=rules.claims.required,
            protected=_unique(rules.claims.protected),
            pool=rules.claims.pool,
            suspect_after_s=rules.claims.suspect_after,
        ),
        contracts=tuple(
            Contract(
                name=name,
                paths=_unique(contract.paths),
                owners=_unique(contract.owners),
                used_by=_unique(contract.used_by),
                tests=_unique(contract.tests),
            )
            for name, contract in rules.contracts.items()
        ),
        budget=BudgetPolicy(rules.budget.failures, rules.budget.infra, rules.budget.runtime),
        fleet=_fleet(rules.fleet),
        health=HealthPolicy(rules.health.check, Culprit(rules.health.culprit)),
    )


def _gate(rules: Rules) -> GateSpec:
    gate = rules.gate
    steps = tuple(
        Step(
            name=step.name,
            run=step.run,
            timeout_s=step.timeout or gate.timeout,
            retry=step.retry,
            inputs=_inputs(step, rules),
            needs=_unique(step.needs),
        )
        for step in gate.steps
    )
    return GateSpec(
        steps=steps,
        timeout_s=gate.timeout,
        setup=gate.setup,
        environment=tuple(gate.environment),
        keep=_unique(gate.keep),
        network=gate.network,
        external=_external(gate.external),
        image=gate.image,
    )


def _inputs(step: GateStep, rules: Rules) -> tuple[str, ...]:
    """Return what decides a step's result: for a contract's test also the contract's own files.

    So that no result from before the contract moved stands for a run on its new revision.
    """
    relied = [
        path
        for contract in rules.contracts.values()
        if step.name in contract.tests
        for path in contract.paths
    ]
    return _unique([*step.inputs, *relied]) if step.inputs else ()


def _fleet(fleet: Fleet) -> FleetPolicy:
    return FleetPolicy(
        backlog_label=fleet.backlog_label,
        unattended_labels=_unique(fleet.unattended_labels),
        question_label=fleet.question_label,
        live_claims_max=fleet.live_claims_max,
        share_per_owner=fleet.share_per_owner,
        queue_longest=fleet.queue_longest,
        runtime_max_s=fleet.runtime_max,
        reds_max=fleet.reds_max,
        cost_max=fleet.cost_max,
        cost_unit=fleet.cost_unit,
        opens_min=fleet.window[0],
        closes_min=fleet.window[1],
    )


def _external(external: External) -> ExternalChecks:
    pins = tuple(Pin(check, producer) for check, producer in external.producers.items())
    checks, skippable = _unique(external.checks), _unique(external.skippable)
    return ExternalChecks(checks, skippable, external.timeout, pins)


def _unique(values: Sequence[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))
