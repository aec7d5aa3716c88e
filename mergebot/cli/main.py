"""`mergebot`: the table of commands, and the last stop for everything that goes wrong.

Exit codes: 0 done, 1 refused or failed with one plain sentence on stderr, 2 wrong use.
"""

import json
import os
import sys
import tempfile
import traceback
from typing import NoReturn

import click

from mergebot.cli.lazy import Entry, LazyGroup

RUN, ASK, CHECK = "Run it", "Ask and steer it", "Check a repository"
INTERRUPTED = 130


class Commands(LazyGroup):
    """Every command of mergebot."""

    entries = (
        Entry(
            "demo",
            "mergebot.cli.demo.command:demo",
            "Watch the whole product work on this machine.",
            RUN,
        ),
        Entry(
            "up",
            "mergebot.cli.running:up",
            "Run web, workers and reconciler, with a Redis of their own.",
            RUN,
        ),
        Entry("web", "mergebot.cli.running:web", "Run the pages, the API and the webhooks.", RUN),
        Entry("worker", "mergebot.cli.running:worker", "Run gates, decisions and notices.", RUN),
        Entry(
            "reconciler",
            "mergebot.cli.running:reconciler",
            "Compare queue, forge and git, again and again.",
            RUN,
        ),
        Entry("forge", "mergebot.cli.forge:forge", "Run a GitHub-compatible forge here.", RUN),
        Entry("status", "mergebot.cli.queue:status", "Show the queue.", ASK),
        Entry("show", "mergebot.cli.queue:show", "Show one pull request's story.", ASK),
        Entry("enqueue", "mergebot.cli.queue:enqueue", "Queue a pull request.", ASK),
        Entry("cancel", "mergebot.cli.queue:cancel", "Take a pull request out of the queue.", ASK),
        Entry("retry", "mergebot.cli.queue:retry", "Try the same head once more.", ASK),
        Entry("halt", "mergebot.cli.queue:halt", "Let nothing land until `resume`.", ASK),
        Entry("resume", "mergebot.cli.queue:resume", "End a halt.", ASK),
        Entry(
            "doctor",
            "mergebot.cli.doctor:doctor",
            "Say what is set up wrong, and what differs.",
            CHECK,
        ),
        Entry(
            "receipt",
            "mergebot.cli.receipt:receipt",
            "Read and prove what landed, from a clone alone.",
            CHECK,
        ),
        Entry("init", "mergebot.cli.init:init", "Set a repository up, or make the App.", CHECK),
        Entry("claim", "mergebot.cli.claim:claim", "Claim files, give them back, audit.", ASK),
        Entry("mcp", "mergebot.cli.mcp:mcp", "Serve an agent's tools over MCP.", ASK),
        Entry("config", "mergebot.cli.checks:config", "Check .mergebot.toml.", CHECK),
        Entry("scope", "mergebot.cli.checks:scope", "Check a change against its claim.", CHECK),
        Entry(
            "simulate",
            "mergebot.cli.simulate:simulate",
            "Play the planner on a trace, beside an oracle.",
            CHECK,
        ),
    )


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="mergebot", message="%(prog)s %(version)s")
def cli() -> None:
    """Land exactly the commits that were tested, in order, with a receipt for each."""


def main() -> NoReturn:
    """Run a command; whatever happens, no traceback reaches the terminal."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    try:
        result = cli.main(arguments, prog_name="mergebot", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.UsageError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _refused(error.format_message(), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; Python must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001  # the last stop: told in one sentence, kept in full
        return _sorted(error, as_json="--json" in arguments)
    return result if isinstance(result, int) else 0


def _sorted(error: Exception, *, as_json: bool) -> int:
    from mergebot.ports.errors import Refused, Unavailable  # noqa: PLC0415  # keeps --help quick
    from mergebot.settings import SettingsFaults  # noqa: PLC0415  # keeps --help quick

    if isinstance(error, SettingsFaults | Refused | Unavailable):
        if as_json:
            # A program reads why, such as who holds a claim, and need not take the sentence apart.
            said = getattr(error, "answer", {"error": str(error), "field": None})
            click.echo(json.dumps(said, indent=2))
        return _refused(str(error), 1)
    with tempfile.NamedTemporaryFile(
        "w", prefix="mergebot-fault-", suffix=".txt", delete=False
    ) as file:
        traceback.print_exception(error, file=file)
    what = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return _refused(f"mergebot made a mistake ({what}); the details are in {file.name}.", 1)


def _refused(text: str, code: int) -> int:
    click.echo(text, err=True)
    return code
