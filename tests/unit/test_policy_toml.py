import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebot.adapters.policy_toml import TomlRules, keys
from mergebot.domain.gate import ExternalChecks, GateSpec, Pin, Step
from mergebot.domain.limits import CONFIG_BYTES_MAX
from mergebot.domain.policy import (
    EXAMPLE,
    Contract,
    FleetPolicy,
    Method,
    Policy,
    PolicyFaults,
    StepOrder,
)
from mergebot.ports.rules import RulesReader

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
REFERENCE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", REFERENCE, re.MULTILINE | re.DOTALL)
RULES: RulesReader = TomlRules()


def accepted(text: str) -> Policy:
    policy = RULES.parse(text.encode())
    assert isinstance(policy, Policy), policy
    return policy


def faults(text: str | bytes) -> tuple[str, ...]:
    refused = RULES.parse(text if isinstance(text, bytes) else text.encode())
    assert isinstance(refused, PolicyFaults), refused
    return refused.faults


def test_producers_are_apps_by_slug_or_number_and_accounts_by_login() -> None:
    policy = accepted("""
        [gate.external]
        checks = ["ci / test", "lint", "docs"]
        [gate.external.producers]
        "ci / test" = "github-actions"
        lint = 15368
        docs = "@build-bot"
    """)
    expected = (Pin("ci / test", "github-actions"), Pin("lint", "15368"), Pin("docs", "@build-bot"))
    assert policy.gate.external.pins == expected


def test_an_empty_file_means_the_defaults_and_a_gate_without_steps() -> None:
    gate = GateSpec((), 3600.0, environment=("CI=true",), keep=(".venv", "node_modules"))
    assert accepted("") == Policy(gate)


def test_the_smallest_valid_file_has_one_step_with_the_time_of_the_gate() -> None:
    assert accepted(EXAMPLE).gate.steps == (Step("test", "make test", 3600.0),)


def test_every_broken_key_of_a_file_is_told_at_once() -> None:
    told = "\n".join(faults((GOLDEN / "broken.mergebot.toml").read_text(encoding="utf-8"))) + "\n"
    assert told == (GOLDEN / "broken.mergebot.txt").read_text(encoding="utf-8"), told


def test_every_value_reaches_the_policy() -> None:
    policy = accepted("""
        trunk = "release/2.x"
        [queue]
        actors = [7, 7, 9]
        method = "squash"
        window = 8
        batch = "auto"
        [gate]
        timeout = "1h30m"
        order = "fail-first"
        keep = ["node_modules/"]
        [[gate.steps]]
        name = "build"
        run = "make"
        [[gate.steps]]
        name = "test"
        run = "make test"
        timeout = "45s"
        retry = 1
        inputs = ["src/**"]
        needs = ["build"]
        [gate.external]
        checks = ["ci / test"]
        skippable = ["ci / test"]
        [contracts.readiness]
        paths = ["src/status.py"]
        owners = ["@alice", "@acme/ops"]
    """)
    assert (policy.trunk, policy.order) == ("release/2.x", StepOrder.FAIL_FIRST)
    assert (policy.queue.actors, policy.queue.method) == ((7, 9), Method.SQUASH)
    assert (policy.queue.window, policy.queue.batch) == (8, 0)
    assert policy.gate.keep == ("node_modules",)
    assert policy.gate.steps == (
        Step("build", "make", 5400.0),
        Step("test", "make test", 45.0, retry=1, inputs=("src/**",), needs=("build",)),
    )
    assert policy.external == ExternalChecks(("ci / test",), ("ci / test",), 2700.0)
    assert policy.contracts == (Contract("readiness", ("src/status.py",), ("@alice", "@acme/ops")),)


def test_the_bounds_of_a_fleet_reach_the_policy() -> None:
    fleet = accepted("""
        [fleet]
        backlog_label = "agents"
        unattended_labels = ["docs"]
        live_claims_max = 12
        share_per_owner = 2
        queue_longest = 20
        runtime_max = "48h"
        reds_max = 7
        cost_max = 40
        cost_unit = "EUR"
        window = "22:30-06:00"
    """).fleet
    assert fleet == FleetPolicy(
        "agents",
        ("docs",),
        "needs-a-person",
        12,
        2,
        20,
        172800.0,
        7,
        40.0,
        "EUR",
        22 * 60 + 30,
        360,
    )


DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    "image",
    ["", "gate", "debian:12", "ghcr.io/acme/gate:v1.2_x", f"localhost:5000/a/b-c@{DIGEST}", DIGEST],
)
def test_an_image_is_named_as_engines_do(image: str) -> None:
    assert accepted(f"[gate]\nimage = '{image}'").gate.image == image


@pytest.mark.parametrize(
    "image",
    [
        *(
            "-v",
            "--privileged",
            " gate",
            "gate ",
            "Gate",
            "a//b",
            "/gate",
            "gate:",
            "docker://gate",
        ),
        *("a,b", "gate@sha256:12", f"{DIGEST}0", "oci-archive:/etc/passwd", "a\tb", "a" * 256),
    ],
)
def test_what_names_no_image_is_refused(image: str) -> None:
    (fault,) = faults(f"[gate]\nimage = '{image}'")
    assert fault.startswith("gate.image is ")
    assert fault.endswith('it must be an image such as "ghcr.io/acme/gate@sha256:...", or nothing.')


@pytest.mark.parametrize("value", ["cost_max = -1", "cost_max = nan", 'cost_unit = "US $"'])
def test_a_ceiling_that_is_none_is_refused(value: str) -> None:
    (fault,) = faults(f"[fleet]\n{value}")
    assert fault.startswith(f"fleet.{value.split(maxsplit=1)[0]} is ")


@pytest.mark.parametrize("value", ["8-20", "08:00-24:00", "08:00-08:00", "08:00 - 20:00", "-"])
def test_hours_that_are_none_are_refused(value: str) -> None:
    (fault,) = faults(f"[fleet]\nwindow = '{value}'")
    assert fault.startswith("fleet.window is ")
    assert '"08:00-20:00"' in fault


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60m", 3600), ("3h", 10800), ("45s", 45), ("1h30m", 5400), ("1h1s", 3601), ("168h", 604800)],
)
def test_a_duration_is_read(text: str, seconds: int) -> None:
    assert accepted(f'[gate]\ntimeout = "{text}"').gate.timeout_s == seconds


@pytest.mark.parametrize(
    "value", ['"0s"', '"169h"', '""', '"60"', '"1.5h"', '"-5m"', '"5m1h"', '"5M"', '" 5m"', "60"]
)
def test_another_duration_is_refused(value: str) -> None:
    (fault,) = faults(f"[gate]\ntimeout = {value}")
    assert fault.startswith("gate.timeout is ")
    assert '"1h30m"' in fault


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"a = ", 'The file is not valid TOML at line 1, column 5, where it ends: "Invalid value".'),
        (b"a = 1\nb = = 2\n", 'The file is not valid TOML at line 2, column 5: "Invalid value".'),
        (b"a = 1\nb = '\xff'", "The file is not valid UTF-8 at line 2, column 6."),
        (b"a = " + b"[" * 20_000, "The file nests values too deeply."),
        (b"a = " + b"9" * 5_000, "The file holds a number with too many digits."),
        (b"#" * (CONFIG_BYTES_MAX + 1), "The file has 65537 bytes; at most 65536 are allowed."),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_has_one_fault_with_its_place(
    text: bytes, sentence: str
) -> None:
    assert faults(text) == (sentence,)


@pytest.mark.parametrize(
    "trunk",
    ["", "-x", "a b", "refs/heads/main", "a..b", "a/", "/a", "a.lock", "a~1", "@{u}", "a\\b"],
)
def test_a_name_that_is_no_branch_is_refused(trunk: str) -> None:
    (fault,) = faults(f"trunk = '{trunk}'")
    assert fault.startswith("trunk is ")


def test_a_mark_of_byte_order_and_windows_line_ends_do_no_harm() -> None:
    assert RULES.parse(b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode()) == accepted(
        EXAMPLE
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[gate.steps]]\nname='a'\nrun='x'\nneeds=['a']",
         'gate.steps[1].needs names "a", which is no earlier step; earlier steps: none.'),
        ("[health]\ncheck='external'", 'health.check is "external", but gate.external.checks is empty.'),
        ("[gate.external]\nchecks=['ci']\nproducers={lint='github-actions'}",
         'gate.external.producers names "lint", which gate.external.checks does not.'),
        ("[gate.external]\nchecks=['ci', 'cd']\nproducers={ci='GitHub Actions', cd='15368'}",
         ('gate.external.producers: "ci" is the text "GitHub Actions", "cd" is the text "15368"; '
         "allowed is an App's slug, an App's number, or @ and the login of an account.")),
        ("[gate.external]\nchecks=['ci']\nproducers='github-actions'",
         ('gate.external.producers is the text "github-actions"; it must be a table of checks, each '
         "with an App's slug, an App's number, or @ and the login of an account.")),
        ("[gate.external]\nchecks=['mergebot']",
         'gate.external.checks names "mergebot", which is the bot\'s own; name checks of others.'),
        ("[gate]\nsetup='make deps'\nkeep=[]",
         "gate.setup is set, but gate.keep is empty: nothing of what it makes would be kept."),
        ("[queue]\nhold_label='MERGE-queue'",
         'queue.hold_label and queue.label are both "MERGE-queue"; they must differ.'),
        ("[budget]\nfailure=1",
         "budget.failure is no known key; perhaps failures is meant; the keys of budget are failures, infra, runtime."),
    ],
)  # fmt: skip
def test_keys_that_contradict_each_other_are_refused(text: str, sentence: str) -> None:
    assert faults(text) == (sentence,)


def test_the_reference_mentions_every_key_and_what_it_takes() -> None:
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.*?) \| .* \| .* \|$", REFERENCE, re.MULTILINE))
    leaves = {k: v for k, v in keys().items() if not any(o.startswith(f"{k}.") for o in keys())}
    assert rows == {key.replace("*", "<name>"): allowed for key, allowed in leaves.items()}


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_of_the_reference_is_accepted(number: int) -> None:
    assert accepted(EXAMPLES[number]).trunk == "main"


def test_the_reference_shows_the_defaults_as_they_are() -> None:
    assert accepted(EXAMPLES[1]) == accepted("")


scalars = st.one_of(
    st.text(),
    st.integers(),
    st.booleans(),
    st.sampled_from(["auto", "1h", "a/**", "../x", "NAME=1", "test", "[key]"]),
)
names = st.sampled_from([*{part for key in keys() for part in key.split(".")}, "[key]", "a b", ""])
tables = st.recursive(
    scalars,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(names, v, max_size=4),
    max_leaves=20,
)


def toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return '"' + "".join(escaped(char) for char in value) + '"'
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return "{" + ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items()) + "}"
        case _:
            return str(value)


def escaped(char: str) -> str:
    plain = char.isprintable() and char not in '"\\'
    return char if plain or "\ud800" <= char <= "\udfff" else f"\\U{ord(char):08x}"


@given(st.dictionaries(names, st.dictionaries(names, tables, max_size=4) | tables, max_size=5))
def test_no_table_makes_the_reader_raise(table: dict[str, object]) -> None:
    text = "\n".join(f"{toml(key)} = {toml(value)}" for key, value in table.items())
    answer = RULES.parse(text.encode(errors="surrogateescape"))
    told = answer.faults if isinstance(answer, PolicyFaults) else ()
    assert [one for one in told if not one.isprintable() or not one.endswith(".")] == []


@given(st.binary())
def test_no_bytes_make_the_reader_raise(text: bytes) -> None:
    assert isinstance(RULES.parse(text), Policy | PolicyFaults)


def test_a_test_that_a_contract_names_depends_on_the_contracts_files_too() -> None:
    policy = accepted("""
        [[gate.steps]]
        name = "held"
        run = "x"
        inputs = ["tests/**"]

        [[gate.steps]]
        name = "other"
        run = "x"
        inputs = ["docs/**"]

        [[gate.steps]]
        name = "all"
        run = "x"

        [contracts.readiness]
        paths = ["src/status.py"]
        tests = ["held", "all"]
    """)
    inputs = {step.name: step.inputs for step in policy.gate.steps}
    assert inputs == {"held": ("tests/**", "src/status.py"), "other": ("docs/**",), "all": ()}


def test_a_health_check_that_is_a_list_is_told_of_as_any_wrong_value() -> None:
    (told,) = faults("health.check = []")
    assert told.startswith("health.check is")
