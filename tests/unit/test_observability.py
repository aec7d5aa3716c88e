import json
import subprocess
import sys

PREAMBLE = """
import logging, sys, threading, warnings, structlog
from mergebot import observability
from mergebot.adapters.redact import Redactor
redactor = Redactor()
redactor.add("correct horse")
observability.{}(redactor.text)
log = structlog.get_logger("test")
"""


def logged(code: str, *, configure: str = "configure_service") -> list[str]:
    """Run code in a process of its own, because logging is set up for a whole process."""
    run = subprocess.run(
        [sys.executable, "-c", PREAMBLE.format(configure) + code],
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.stdout == ""
    return run.stderr.splitlines()


def test_a_service_logs_one_json_object_per_event() -> None:
    (line,) = logged("log.info('landed', pr=7, title='two\\nlines \\u2028 \\u202e')")
    event = json.loads(line)
    assert (event["event"], event["pr"], event["level"]) == ("landed", 7, "info")
    assert event["title"] == "two\nlines \u2028 \u202e"
    assert line.isascii()


def test_a_secret_in_any_field_is_hidden() -> None:
    (line,) = logged("log.info('said correct horse', deep={'a': ['correct horse']})")
    assert "correct" not in line
    assert json.loads(line)["deep"] == {"a": ["[redacted]"]}


def test_the_standard_library_logs_through_the_same_door() -> None:
    lines = logged(
        "logging.getLogger('lib').error('x %s', 'correct horse', extra={'pr': 7})\n"
        "warnings.warn('odd correct horse')\n"
        "logging.getLogger('urllib3').info('not told')"
    )
    events = [json.loads(line) for line in lines]
    assert [event["level"] for event in events] == ["error", "warning"]
    assert (events[0]["event"], events[0]["pr"]) == ("x [redacted]", 7)
    assert "correct" not in "".join(lines)


def test_a_crash_is_one_redacted_line() -> None:
    lines = logged("raise ValueError('correct horse')")
    (event,) = [json.loads(line) for line in lines]
    assert event["event"] == "crashed"
    assert "ValueError: [redacted]" in event["exception"]


def test_a_crash_in_a_thread_is_one_redacted_line() -> None:
    (line,) = logged(
        "def work(): raise ValueError('correct horse')\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()"
    )
    assert "ValueError: [redacted]" in json.loads(line)["exception"]


def test_a_command_says_only_what_people_must_know() -> None:
    code = "log.info('quiet')\nlog.warning('slow\\nforge \\x1b[2J', after='correct horse')"
    lines = logged(code, configure="configure_command")
    assert lines == ["warning: slow\\x0aforge \\x1b[2J after=[redacted]"]
