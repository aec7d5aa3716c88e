"""A campaign against everything that reads hostile input: `python -m tests.fuzz --minutes 10`.

Rounds of every property, each with a seed of its own, until the time is over or one does not hold.
A round that has begun is finished, so a campaign takes a little longer than it was given.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[2]
SEEDS = 1_000_000
ROUND_S_MAX = 3600

PARSERS: Mapping[str, tuple[str, ...]] = {
    "webhooks": ("contract/github/test_webhook.py",),
    "claim blocks": ("unit/test_claims.py",),
    "commands": ("unit/test_commands.py",),
    "rules (.mergebot.toml)": ("unit/test_policy_toml.py",),
    "patterns": ("unit/test_patterns.py",),
    "what git prints": ("contract/git/test_fuzz_git.py", "contract/git/test_command.py"),
    "diffs and paths": ("unit/test_scope.py",),
    "text that leaves": (
        "unit/test_markdown.py",
        "unit/test_evidence.py",
        "unit/test_redact.py",
        "unit/test_status.py",
        "unit/test_forge_markdown.py",
    ),
    "receipts, forms, cookies": ("security/test_fuzz.py",),
    "the record": ("contract/store/test_codec.py",),
}


@dataclass(frozen=True, slots=True)
class Round:
    """What one round showed: how many properties held, by parser, and what did not, in full."""

    held: Mapping[str, int]
    broken: Mapping[str, str]


def main() -> int:
    """Run the campaign; 0 when everything held, 1 when something did not."""
    given = _given()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(SEEDS)
    began, number, held = time.monotonic(), 0, dict.fromkeys(PARSERS, 0)
    _say(f"fuzzing {len(PARSERS)} parsers for {given.minutes:g} min, seed {seed}")
    while number == 0 or time.monotonic() - began < given.minutes * 60:
        found = play(seed + number, given.examples)
        number += 1
        spent = time.monotonic() - began
        _say(
            f"  round {number}, seed {seed + number - 1}: {sum(found.held.values())} properties"
            f" held for {given.examples} examples each, {len(found.broken)} did not;"
            f" {spent / 60:.1f} of {given.minutes:g} min"
        )
        held = {parser: count + found.held[parser] for parser, count in held.items()}
        if found.broken:
            return _lost(found, seed + number - 1, given.examples)
    for parser, count in held.items():
        _say(f"  {parser:<26} {count * given.examples:>10,} examples, every property held")
    return 0


def play(seed: int, examples: int) -> Round:
    """Look at so many new examples of every property, chosen by a seed."""
    files = [f"tests/{file}" for some in PARSERS.values() for file in some]
    chosen = {"MERGEBOT_TEST_SEED": str(seed), "MERGEBOT_FUZZ_EXAMPLES": str(examples)}
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "-n", "2"]
        command += ["--timeout", str(ROUND_S_MAX), f"--junit-xml={report}", *files]
        done = subprocess.run(
            command, check=False, cwd=ROOT, env={**os.environ, **chosen}, capture_output=True, text=True
        )  # fmt: skip
        if not report.exists():
            return Round(dict.fromkeys(PARSERS, 0), {"pytest": done.stdout + done.stderr})
        return _read(ET.parse(report))


def _read(report: "ET.ElementTree[ET.Element]") -> Round:
    held, broken = dict.fromkeys(PARSERS, 0), {}
    for case in report.iter("testcase"):
        file = case.get("classname", "").replace(".", "/").removeprefix("tests/") + ".py"
        wrong = case.find("failure") if case.find("error") is None else case.find("error")
        if wrong is not None:
            broken[f"tests/{file}::{case.get('name')}"] = wrong.text or ""
            continue
        for parser in _whose(file):
            held[parser] += 1
    if not all(held.values()) and not broken:
        silent = [parser for parser, count in held.items() if not count]
        broken["tests/fuzz"] = f"nothing was tried of: {', '.join(silent)}"
    return Round(held, broken)


def _whose(file: str) -> Iterator[str]:
    yield from (parser for parser, files in PARSERS.items() if file in files)


def _lost(found: Round, seed: int, examples: int) -> int:
    for name, text in found.broken.items():
        _say(f"\n{name} does not hold:\n{text}")
    _say(f"\nonce more: make fuzz SEED={seed} EXAMPLES={examples} MINUTES=0")
    return 1


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--examples", type=int, default=500, help="of each property, in each round")
    parser.add_argument("--seed", type=int)
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - it is what a person watches


if __name__ == "__main__":
    sys.exit(main())
