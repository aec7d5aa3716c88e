"""Wrong use, missing settings and silence on the other side: one sentence each, and an exit code."""

import json
import socket
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from redis import Redis

from mergebot.cli import main
from mergebot.cli.main import Commands
from mergebot.cli.printing import as_json
from tests.support.product import free_port, run
from tests.support.valkey import valkey_server


def test_help_names_every_command_without_importing_any() -> None:
    shown = run("--help")
    assert shown.code == 0
    for name in ("demo", "up", "web", "worker", "reconciler", "forge", "status", "show", "enqueue"):
        assert f"  {name} " in shown.out
    assert shown.err == ""


@pytest.mark.parametrize(
    "command",
    [
        "demo", "up", "web", "worker", "reconciler", "status", "show", "enqueue", "cancel",
        "retry", "halt", "resume", "config check", "scope check", "forge serve", "forge import",
    ],
)  # fmt: skip
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([*command.split(), "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: mergebot {command} ")


@pytest.mark.parametrize(
    "words",
    [["nonsense"], ["show"], ["show", "x"], ["show", "0"], ["retry", "1"], ["status", "--repo=x"]],
)
def test_wrong_use_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Error: " in said.err


@pytest.mark.parametrize("given", ["x", "0", "-1", "7.5", "\u0667", "#"])
def test_what_is_no_pull_request_is_named_with_what_would_be_one(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["show", "--", given]) == 2
    assert f"{given!r} is no pull request: give its number, such as 7" in capsys.readouterr().err


def test_a_fault_of_ours_is_one_sentence_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Commands, "get_command", lambda *_: 1 / 0)
    assert main.run(["status"]) == 1
    said = capsys.readouterr().err
    (file,) = tmp_path.iterdir()
    assert said.count("\n") == 1
    assert str(file) in said
    assert "ZeroDivisionError" in file.read_text()


@pytest.mark.parametrize("part", ["up", "web", "worker", "reconciler"])
def test_a_part_without_settings_refuses_to_start_and_lists_all_of_them(
    part: str, tmp_path: Path
) -> None:
    refused = run(part, settings={"MERGEBOT_HOME": str(tmp_path), "MERGEBOT_PORT": "no"})
    assert (refused.code, refused.out) == (1, "")
    for name in ("MERGEBOT_PORT is 'no'", "MERGEBOT_GITHUB_TOKEN", "MERGEBOT_REPOS"):
        assert name in refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize("part", ["up", "web"])
def test_a_port_that_somebody_else_listens_at_is_refused_before_anything_starts(
    part: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, valkey_server() as url:
        port = str(other.getsockname()[1])
        refused = run(part, settings=_complete(tmp_path, url) | {"MERGEBOT_PORT": port})
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f"Something else listens at 127.0.0.1, port {port}: stop it, or set MERGEBOT_PORT to a free"
        " port.\n"
    )


@pytest.mark.parametrize("host", ["no such host!", "host.invalid", "203.0.113.7"])
def test_an_address_that_this_host_does_not_have_is_refused(host: str, tmp_path: Path) -> None:
    settings = _complete(tmp_path, "redis://127.0.0.1:1") | {"MERGEBOT_HOST": host}
    refused = run("web", settings=settings | {"MERGEBOT_PORT": str(free_port())})
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == f"MERGEBOT_HOST is '{host}'; allowed is an address of this host.\n"


def _complete(home: Path, redis_url: str) -> dict[str, str]:
    return {
        "MERGEBOT_HOME": str(home),
        "MERGEBOT_GITHUB_TOKEN": "t",
        "MERGEBOT_REPOS": "o/r",
        "MERGEBOT_WEBHOOK_SECRET": "s",
        "MERGEBOT_REDIS_URL": redis_url,
    }


@pytest.mark.parametrize("words", [["status"], ["halt", "why"], ["enqueue", "1"]])
def test_without_a_running_bot_commands_say_where_they_looked(words: list[str]) -> None:
    port = str(free_port())
    settings = {"MERGEBOT_PORT": port, "MERGEBOT_ADMIN_TOKEN": "t", "MERGEBOT_REPOS": "o/r"}
    refused = run(*words, settings=settings)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f"No mergebot answers at http://127.0.0.1:{port}; start `mergebot up`, or set"
        " MERGEBOT_PUBLIC_URL.\n"
    )


class _Other(BaseHTTPRequestHandler):
    """Something that answers everything with an empty object."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_something_else_that_answers_is_told_apart_from_a_mergebot() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Other) as server:
        Thread(target=server.serve_forever).start()
        try:
            asked = {"MERGEBOT_PORT": str(server.server_port)}
            refused = run("status", "--repo=o/r", settings=asked)
        finally:
            server.shutdown()
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("What answers is no mergebot, or one of another version")


class _Loser(BaseHTTPRequestHandler):
    """Refuses everything as a bot does whose files somebody holds."""

    answer: ClassVar[dict[str, object]] = {
        "error": "src/x is claimed by ada",
        "holders": [{"id": "c-1"}],
    }

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(409)
        self.end_headers()
        self.wfile.write(json.dumps(self.answer).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_refusal_is_json_too_for_whoever_asked_for_json(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Loser) as server:
        Thread(target=server.serve_forever).start()
        settings = {"MERGEBOT_HOME": str(tmp_path), "MERGEBOT_ADMIN_TOKEN": "t"}
        settings["MERGEBOT_PORT"] = str(server.server_port)
        try:
            wish = ("claim", "add", "src/x", "--task=T", "--repo=o/r", "--branch=b", "--json")
            refused = run(*wish, settings=settings)
        finally:
            server.shutdown()
    silent = run("status", "--repo=o/r", "--json", settings=settings)
    assert (refused.code, json.loads(refused.out)) == (1, _Loser.answer)
    assert refused.err == "src/x is claimed by ada\n"
    assert (silent.code, json.loads(silent.out)["error"]) == (1, silent.err.strip())


def test_what_no_output_takes_is_printed_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    as_json({"by": "half \ud800", "title": "schön"})
    assert json.loads(capsys.readouterr().out) == {"by": "half \ud800", "title": "schön"}


def test_to_steer_takes_a_token(tmp_path: Path) -> None:
    refused = run("halt", "why", "--repo=o/r", settings={"MERGEBOT_HOME": str(tmp_path)})
    assert refused.code == 1
    assert "MERGEBOT_ADMIN_TOKEN" in refused.err


def test_an_evicting_redis_is_refused_with_what_to_change(tmp_path: Path) -> None:
    settings = {
        "MERGEBOT_HOME": str(tmp_path),
        "MERGEBOT_GITHUB_TOKEN": "t",
        "MERGEBOT_REPOS": "o/r",
        "MERGEBOT_WEBHOOK_SECRET": "s",
    }
    with valkey_server() as url:
        redis = Redis.from_url(url)
        redis.config_set("maxmemory-policy", "allkeys-lru")
        redis.close()
        refused = run("up", settings={**settings, "MERGEBOT_REDIS_URL": url})
    assert (refused.code, refused.out) == (1, "")
    assert "allkeys-lru; set it to noeviction" in refused.err
    assert refused.err.count("\n") == 1


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").out == "mergebot 0.1.0\n"


def test_python_m_mergebot_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mergebot", "--version"], capture_output=True, check=True, text=True
    )
    assert done.stdout == "mergebot 0.1.0\n"
