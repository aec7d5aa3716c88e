"""`mergebot init`: write the rules and the workflow files, or make the GitHub App."""

import os
import shutil
import webbrowser
from pathlib import Path

import click

from mergebot.domain.planning import CONFIG_PATHS
from mergebot.domain.policy import EXAMPLE
from mergebot.domain.setup import NewApp, app_settings, guess_step, rules_file

LOOKED_AT = ("Makefile", "package.json", "Cargo.toml", "go.mod", "pyproject.toml")
RULES = CONFIG_PATHS[0]
BYTES_MAX = 1024 * 1024


@click.command()
@click.option("--run", "command", default="", help="The gate's command; guessed where not given.")
@click.option("--yes", is_flag=True, help="Take the guess without asking.")
@click.option("--workflows", is_flag=True, help="Also write the workflow files for GitHub Actions.")
@click.option("--agents", is_flag=True, help="Only tell agents: AGENTS.md and a pre-push hook.")
@click.option("--app", is_flag=True, help="Make a GitHub App instead, by a page with one button.")
@click.option("--print", "print_", is_flag=True, help="With --app: only print the App's settings.")
@click.option("--name", default="mergebot", show_default=True, help="With --app: its name.")
@click.option("--public-url", default="", help="With --app: the address that GitHub reaches.")
@click.option(
    "--directory",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The checkout to write to.",
)
def init(  # noqa: PLR0913  # one argument for each option
    command: str,
    name: str,
    public_url: str,
    directory: Path,
    *,
    yes: bool,
    workflows: bool,
    agents: bool,
    app: bool,
    print_: bool,
) -> None:
    """Set a repository up for mergebot: its rules, its workflows, or the App."""
    if agents:
        from mergebot.cli.agents import tell_agents  # noqa: PLC0415  # only this needs git

        tell_agents(directory)
        return
    if not app:
        _write_rules(directory, command, sure=yes)
        if workflows:
            _write_workflows(directory)
        return
    if not public_url.startswith(("https://", "http://")):
        raise click.UsageError("--app needs --public-url, the address that GitHub reaches.")
    url = public_url.rstrip("/")
    if print_:
        click.echo(app_settings(name, url), nl=False)
        return
    _make_app(directory, name, url)


def _write_rules(directory: Path, command: str, *, sure: bool) -> None:
    present = next((path for path in CONFIG_PATHS if (directory / path).exists()), None)
    if present is not None:
        raise click.ClickException(f"{directory / present} is there already; it was left alone.")
    from mergebot.domain.setup import Guess  # noqa: PLC0415  # beside its only use

    guess = Guess(command, "you said so") if command else guess_step(_files(directory))
    if guess is None:
        looked = ", ".join(LOOKED_AT)
        raise click.ClickException(
            f"No test command could be guessed from {looked}; give one with --run, or write"
            f" {RULES} yourself. The smallest one is:\n\n{EXAMPLE}"
        )
    text = rules_file(guess)
    click.echo(f"The gate would be `{guess.run}`, because {guess.because}. {RULES}:\n\n{text}")
    if not (sure or command) and not click.confirm("Write it?"):
        raise click.ClickException("nothing was written.")
    (directory / RULES).write_text(text, encoding="utf-8")
    click.echo(f"Wrote {RULES}. Commit it to the trunk.")


def _files(directory: Path) -> dict[str, str]:
    found = {}
    for name in LOOKED_AT:
        path = directory / name
        if path.is_file() and path.stat().st_size <= BYTES_MAX:
            found[name] = path.read_text(encoding="utf-8", errors="replace")
    return found


def _write_workflows(directory: Path) -> None:
    package = Path(__file__).parents[1]
    installed = package / "_workflows"
    source = installed if installed.is_dir() else package.parent / "workflows"
    target = directory / ".github" / "workflows"
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.glob("*.yml")):
        if (target / file.name).exists():
            click.echo(f"{target / file.name} is there already; it was left alone.")
            continue
        shutil.copyfile(file, target / file.name)
        click.echo(f"Wrote .github/workflows/{file.name}.")


def _write_secret(file: Path, text: str) -> None:
    """Write what is told only once, for this user alone, also where the file was there before."""
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(text)


def _make_app(directory: Path, name: str, url: str) -> None:
    from mergebot.cli.app_flow import AppFlow  # noqa: PLC0415  # only this needs a web server

    def made(app: NewApp) -> None:
        kept = {
            "private-key.pem": app.key,
            "webhook-secret": app.secret,
            "client-secret": app.client_secret,
        }
        files = {what: directory.resolve() / f"{app.slug}.{what}" for what in kept}
        for what, text in kept.items():
            _write_secret(files[what], text)
        told = (
            f"The App {app.slug} is made. Install it on your repositories, and start mergebot with:",
            f"  MERGEBOT_GITHUB_APP_ID={app.app_id}",
            f"  MERGEBOT_GITHUB_APP_KEY_FILE={files['private-key.pem']}",
            f'  MERGEBOT_WEBHOOK_SECRET="$(cat {files["webhook-secret"]})"',
            f"  MERGEBOT_PUBLIC_URL={url}",
            "And, so that people sign in to the pages through the forge:",
            f"  MERGEBOT_OAUTH_CLIENT_ID={app.client_id}",
            f'  MERGEBOT_OAUTH_CLIENT_SECRET="$(cat {files["client-secret"]})"',
        )
        click.echo("\n".join(told))

    with AppFlow(name, url, made) as flow:
        click.echo(f"Open {flow.address} and press the button. Ctrl-C ends this.")
        webbrowser.open(flow.address)
        flow.wait()
