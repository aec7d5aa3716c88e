"""`mergebot forge`: serve the local forge, and bring existing repositories into it."""

import json
import sys
from pathlib import Path

import click

from mergebot.localforge.errors import ApiError
from mergebot.localforge.forge import Forge
from mergebot.localforge.git import GitError
from mergebot.localforge.server import DEFAULT_PORT, Listening, import_repository
from mergebot.localforge.server import serve as serve_forge

ROOT = click.option(
    "--root",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that holds the forge's database and repositories.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def forge() -> None:
    """Run a GitHub-compatible forge on this machine."""


@forge.command()
@ROOT
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=DEFAULT_PORT,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port to listen on; 0 takes any free one.",
)
@click.option("--public-url", default="", help="The address that the forge calls itself by.")
@JSON
def serve(root: Path, host: str, port: int, public_url: str, *, as_json: bool) -> None:
    """Serve the forge until it is stopped."""
    where = Listening(root, host, port, public_url)

    def ready(served: Forge) -> None:
        about = {"url": served.url, "api_url": served.api, "root": str(served.root)}
        text = f"The forge is ready: {served.url} (API {served.api}, data in {served.root})"
        click.echo(json.dumps(about) if as_json else text)
        sys.stdout.flush()

    try:
        serve_forge(where, ready)
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.ClickException(f"cannot serve on {host}:{port}: {reason}.") from error


@forge.command(name="import")
@click.argument("repository", type=click.Path(exists=True, path_type=Path))
@ROOT
@click.option("--name", default="", help="owner/name in the forge; default local/FOLDER.")
@JSON
def import_(repository: Path, root: Path, name: str, *, as_json: bool) -> None:
    """Copy branches and tags of the git repository REPOSITORY into the forge."""
    full_name = name or f"local/{repository.resolve().name.removesuffix('.git')}"
    if full_name.count("/") != 1 or not all(full_name.split("/")):
        raise click.UsageError(f"--name is {full_name!r}; it must be owner/name.")
    root.mkdir(parents=True, exist_ok=True)
    address = root / "address"
    url = address.read_text("utf-8").strip() if address.exists() else ""
    try:
        clone_url = import_repository(
            Forge(root.resolve(), url or f"http://127.0.0.1:{DEFAULT_PORT}"), repository, full_name
        )
    except ApiError as error:
        first = error.errors[0] if error.errors else {}
        reason = first.get("message") or f"{first.get('field', 'it')} is {first.get('code', 'bad')}"
        raise click.ClickException(f"{full_name} cannot be created: {reason}.") from error
    except GitError as error:
        said = str(error).splitlines()[0].removeprefix("fatal: ").rstrip(".")
        raise click.ClickException(f"{repository} cannot be imported: {said}.") from error
    about = {"full_name": full_name, "clone_url": clone_url}
    click.echo(json.dumps(about) if as_json else clone_url)


if __name__ == "__main__":
    forge()
