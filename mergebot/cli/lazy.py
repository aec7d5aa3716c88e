"""A click group that imports a command only when it is run, so that `--help` is quick."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: its name, `module:attribute`, what it does in one line, and its section."""

    name: str
    where: str
    summary: str
    section: str


class LazyGroup(click.Group):
    """A group whose commands are listed in a table and imported on use."""

    entries: Sequence[Entry] = ()

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names in the order of the table."""
        return [each.name for each in self.entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import a command; None for a name that is not in the table."""
        entry = next((each for each in self.entries if each.name == cmd_name), None)
        if entry is None:
            return None
        module, _, attribute = entry.where.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.where} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's signature
        """Write the table, section by section, without importing anything."""
        width = max(len(each.name) for each in self.entries)
        for section in dict.fromkeys(each.section for each in self.entries):
            rows = [
                (each.name.ljust(width), each.summary)
                for each in self.entries
                if each.section == section
            ]
            with formatter.section(section):
                formatter.write_dl(rows)
