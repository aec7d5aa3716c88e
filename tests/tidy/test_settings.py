"""docs/settings.md names every setting, what it takes and its default, and no other."""

import re

import pytest
from pydantic_core import PydanticUndefined

from mergebot.settings import ALLOWED, PREFIX, Settings
from tests.tidy.tracked import paths, text

ROW = re.compile(r"^\| `(MERGEBOT_\w+)` \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)
NAME = re.compile(r"MERGEBOT_[A-Z_]+[A-Z]")
NOT_OF_THE_BOT = {"MERGEBOT_TEST_SEED", "MERGEBOT_FUZZ_EXAMPLES", "MERGEBOT_FUZZ_MINUTES"}

TOLD = {name: (takes, default) for name, takes, default in ROW.findall(text("docs/settings.md"))}
KNOWN = {PREFIX + name.upper(): name for name in Settings.model_fields}


def test_every_setting_is_told_of_and_nothing_else_is() -> None:
    assert list(TOLD) == list(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_the_table_says_what_a_refusal_says_and_what_holds_without_a_word(name: str) -> None:
    takes, default = TOLD[name]
    field = Settings.model_fields[KNOWN[name]]
    assert ALLOWED.get(KNOWN[name], takes) == takes
    if field.default_factory is None and field.default is not PydanticUndefined:
        value = getattr(field.default, "get_secret_value", lambda: field.default)()
        plain = ",".join(value) if isinstance(value, tuple) else str(value or "")
        assert default.strip("`") == (plain if field.default else "none")


@pytest.mark.parametrize("path", ["README.md", "compose.yaml", *paths(under="docs/", ending=".md")])
def test_no_document_names_a_setting_that_there_is_not(path: str) -> None:
    assert set(NAME.findall(text(path))) <= set(KNOWN) | NOT_OF_THE_BOT
