"""`mergebot doctor`: what is set up wrong, and where labels, queue and git differ."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from mergebot.cli.printing import as_json, clean
from mergebot.settings import Need, SettingsFaults, load

if TYPE_CHECKING:
    from mergebot.services.findings import Finding


@click.command()
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def doctor(*, json_: bool) -> None:
    """Check settings, Redis, git, sandbox and forge; compare labels, queue and git.

    Exits with 1 where something is not as it should be. Nothing is changed; deliveries of the
    webhook that failed are asked for again.
    """
    from mergebot.services.findings import Finding  # noqa: PLC0415  # slow to import
    from mergebot.wiring.doctor import Doctor  # noqa: PLC0415  # slow to import

    try:
        settings = load(Need.FORGE | Need.WEBHOOKS)
    except SettingsFaults as error:
        _show([Finding("settings", each, "correct it") for each in error.faults], json_=json_)
        raise click.exceptions.Exit(1) from None
    looked = Doctor(settings)
    found = [Finding("settings", "they fit together"), *looked.host(), *looked.commit_key()]
    needed = [looked.redis(), looked.forge()]
    found += needed
    if all(each.well for each in needed):
        found += [looked.clock(), *looked.repositories()]
    _show(found, json_=json_)
    if not all(each.well for each in found):
        raise click.exceptions.Exit(1)


def _show(found: "Sequence[Finding]", *, json_: bool) -> None:
    if json_:
        rows = [
            {
                "about": each.about,
                "found": each.found,
                "ok": each.well,
                "advice": each.advice or each.hint,
            }
            for each in found
        ]
        as_json({"ok": all(each.well for each in found), "findings": rows})
        return
    for each in found:
        sign = "!!" if each.advice else "--" if each.hint else "ok"
        click.echo(f"{sign}  {clean(each.about)}: {clean(each.found)}")
        if each.advice or each.hint:
            click.echo(f"      -> {clean(each.advice or each.hint)}")
