"""Every run is the same run: one seed for test order, `random` and Hypothesis, shown at the top.

MERGEBOT_TEST_SEED=<number> chooses another seed, and lets Hypothesis look at new examples;
MERGEBOT_FUZZ_EXAMPLES=<number> beside it says how many.
Connections leave this machine in no test: pyproject.toml allows loopback and unix sockets only.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ("tests.support.attacks", "tests.support.engines", "tests.support.github_report")

SEED_VARIABLE = "MERGEBOT_TEST_SEED"
DEFAULT_SEED = 20_261_129

settings.register_profile("same", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)
EXAMPLES = int(os.environ.get("MERGEBOT_FUZZ_EXAMPLES", "0"))
# A machine that does something else beside it is slow, and that is no fault of a parser.
SLOW = [HealthCheck.too_slow]
settings.register_profile(
    "fuzz",
    deadline=None,
    print_blob=True,
    max_examples=max(EXAMPLES, 1),
    suppress_health_check=SLOW,
)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hand the seed to pytest-randomly and Hypothesis before they choose their own."""
    chosen = os.environ.get(SEED_VARIABLE, "")
    if chosen and not chosen.isdecimal():
        message = f"{SEED_VARIABLE} is {chosen!r}; it must be a whole number."
        raise pytest.UsageError(message)
    profile = "fuzz" if EXAMPLES else "explore"
    settings.load_profile(profile if chosen else "same")
    if config.option.randomly_seed == "default":
        config.option.randomly_seed = int(chosen or DEFAULT_SEED)
    if chosen and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = chosen


def pytest_report_header() -> str:
    """Say how to repeat the run."""
    return f"seed: {os.environ.get(SEED_VARIABLE, DEFAULT_SEED)} (set {SEED_VARIABLE} for another)"
