import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mergebot.adapters.redis.connect import check_server, connect
from mergebot.adapters.redis.embedded import EmbeddedValkey, running_url
from mergebot.domain.candidate import Queued
from mergebot.domain.lane import LaneState
from mergebot.domain.story import Entry
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.store import Commit
from tests.contract.store.conftest import redis_kit
from tests.support.sample import LANE, candidate
from tests.support.waiting import eventually

COMMITS = 50
PARENT = """
import sys, pathlib
from mergebot.adapters.redis.embedded import EmbeddedValkey
server = EmbeddedValkey(pathlib.Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""


def test_the_server_fits_mergebot_and_is_this_users_alone(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as server:
        client = connect(server.url)
        check_server(client)
        asked = {name: client.config_get(name)[name] for name in ("appendfsync", "port", "save")}
        assert asked == {"appendfsync": "always", "port": "0", "save": "3600 1"}
        assert (tmp_path / "valkey").stat().st_mode & 0o777 == 0o700
        assert running_url(tmp_path) == server.url


def test_a_clean_stop_keeps_every_key_and_can_be_repeated(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as server:
        written = redis_kit(connect(server.url)).commit(Commit(LaneState(), (candidate(Queued()),)))
    server.stop()
    with EmbeddedValkey(tmp_path) as server:
        assert redis_kit(connect(server.url)).store.read(LANE).candidates == written.candidates


def test_a_killed_server_keeps_every_commit_that_was_answered(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path)
    server.start()
    kit = redis_kit(connect(server.url))
    for number in range(COMMITS):
        kit.commit(Commit(LaneState(next_seq=number), entries=(Entry(0.0, 0, "n", str(number)),)))
    os.kill(server.pid, signal.SIGKILL)
    server.stop()
    with pytest.raises(Unavailable):
        kit.store.read(LANE)
    server.start()
    found = kit.store.read(LANE)
    story = kit.store.story(LANE, 0, limit=COMMITS + 1)
    server.stop()
    assert (found.revision, found.state.next_seq) == (COMMITS, COMMITS - 1)
    assert [entry.text for entry in story] == [str(number) for number in range(COMMITS)]


def test_a_write_torn_by_a_crash_does_not_keep_the_server_from_starting(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as server:
        redis_kit(connect(server.url)).commit(Commit(LaneState(waiting="kept")))
    [log] = (tmp_path / "valkey").glob("appendonlydir/*.incr.aof")
    with log.open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$1")
    with EmbeddedValkey(tmp_path) as server:
        assert redis_kit(connect(server.url)).store.read(LANE).state.waiting == "kept"


def test_a_damaged_record_is_refused_with_what_the_server_says(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as server:
        for _ in range(3):
            redis_kit(connect(server.url)).commit(Commit(LaneState()))
    [log] = (tmp_path / "valkey").glob("appendonlydir/*.incr.aof")
    log.write_bytes(b"nonsense" + log.read_bytes()[8:])
    with pytest.raises(Refused, match="did not start"):
        EmbeddedValkey(tmp_path).start()


def test_a_home_has_one_server(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as server:
        with pytest.raises(Refused, match="already runs"):
            EmbeddedValkey(tmp_path).start()
        assert connect(server.url).ping()


def test_a_home_without_a_server_has_no_address(tmp_path: Path) -> None:
    assert running_url(tmp_path) is None
    with pytest.raises(Refused):
        assert EmbeddedValkey(tmp_path).url


def test_a_home_too_deep_for_a_socket_works_and_keeps_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        expect_one_address(tmp_path / ("a" * 60) / ("b" * 60))


def expect_one_address(home: Path) -> None:
    with EmbeddedValkey(home) as server:
        connect(server.url).set("kept", "1")
        url = server.url
    with EmbeddedValkey(home) as server:
        assert server.url == url
        assert connect(url).get("kept") == b"1"


def test_the_server_ends_with_its_parent_and_frees_the_home(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    eventually(lambda: not Path(f"/proc/{pid}").exists(), within_s=10.0, what="the server ends")
    with EmbeddedValkey(tmp_path) as server:
        assert connect(server.url).ping()
