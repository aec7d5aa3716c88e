"""The rules that a seed draws: groups or none, one step or several, others' checks, contracts.

Every gate asks the same of a tree all together, however it is cut into steps: so that a trunk
stays as green as it is when the rules change.
"""

from functools import cache
from random import Random

from mergebot.adapters.policy_toml import TomlRules
from mergebot.domain.policy import Policy, PolicyFaults

ALL, DOCS = "ci / all", "ci / docs"
"""What the repository's own CI reports: one check that looks at everything, one often skipped."""

CONTRACT = "readiness"

HEAD = """\
[queue]
method = "{method}"
window = {window}
batch = {batch}
hedge = "{hedge}"
require_approvals = {approvals}

[claims]
required = {required}

[budget]
failures = 2

"""

ONE = """\
[[gate.steps]]
name = "test"
run = "make all"
retry = {retry}
"""

TWO = """\
[[gate.steps]]
name = "lint"
run = "make lint"
inputs = ["bad*"]

[[gate.steps]]
name = "test"
run = "make test"
retry = {retry}
inputs = ["slow*", "left", "right"]
needs = ["lint"]
"""

THREE = """\
[gate]
order = "fail-first"

[[gate.steps]]
name = "build"
run = "make build"
inputs = ["app"]

[[gate.steps]]
name = "lint"
run = "make lint"
needs = ["build"]

[[gate.steps]]
name = "test"
run = "make test"
retry = {retry}
needs = ["build"]
"""

LINT = """\
[[gate.steps]]
name = "lint"
run = "make lint"
"""

EXTERNAL = """
[gate.external]
checks = {checks}
skippable = {skippable}
timeout = "4m"

[health]
check = "{health}"
"""

CONTRACTS = """
[contracts.readiness]
paths = ["app"]
owners = {owners}
used_by = {used_by}
"""

STEPS = (ONE, ONE, ONE, TWO, THREE)


def rules(rng: Random) -> str:
    """Return a `.mergebot.toml`."""
    # Drawn apart, so that the same seeds meet the same rules otherwise.
    hedge = Random(rng.getstate()[1][1]).choice(("off", "risky", "idle"))
    head = HEAD.format(
        hedge=hedge,
        method=rng.choice(("rebase", "rebase", "squash", "merge")),
        window=rng.choice(('"auto"', "1", "2", "3")),
        batch=rng.choice(("1", "1", "2", "3", '"auto"')),
        approvals=rng.choice((0, 0, 0, 0, 1)),
        required=rng.choice(("false", "false", "false", "false", "true")),
    )
    return head + _gate(rng) + _contracts(rng)


@cache
def parsed(text: bytes) -> Policy | PolicyFaults:
    """Return what the production reader makes of rules; the same text is read once."""
    return TomlRules().parse(text)


def read(text: str) -> Policy | None:
    """Return what rules mean, None for those that cannot be used."""
    found = parsed(text.encode())
    return found if isinstance(found, Policy) else None


def _gate(rng: Random) -> str:
    if rng.random() < 0.75:
        return rng.choice(STEPS).format(retry=rng.choice((0, 1)))
    steps = rng.choice((LINT, LINT, ONE.format(retry=0), ""))
    docs = rng.random() < 0.5
    return steps + EXTERNAL.format(
        checks=f'["{ALL}", "{DOCS}"]' if docs else f'["{ALL}"]',
        skippable=f'["{DOCS}"]' if docs else "[]",
        health=rng.choice(("gate", "external", "both")),
    )


def _contracts(rng: Random) -> str:
    if rng.random() < 0.85:
        return ""
    return CONTRACTS.format(
        owners=rng.choice(('["@kim"]', "[]")),
        used_by=rng.choice(('["file-*"]', "[]")),
    )
