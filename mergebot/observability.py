"""Logging: one event per line on stderr, redacted last of all, with the standard library's joined in.

Events are snake_case facts with fields. Doors bind `lane`, `pr`, `run` and `delivery` through
structlog's context variables; everything else just logs:

    structlog.get_logger().info("landed", pr=7, merged=sha)

A service writes JSON. A command for people writes plain lines, and only what they must know.
"""

import logging
import sys
import threading
from collections.abc import Callable
from types import TracebackType

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

Redact = Callable[[str], str]

# Libraries that tell at INFO, or below, what we count or log ourselves.
_CHATTY = ("github", "urllib3", "kombu", "amqp", "uvicorn.access")
_ESCAPED = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | {
    code: f"\\u{code:04x}"
    for code in (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def configure_service(redact: Redact) -> None:
    """Log JSON lines from INFO up, for a process that runs unattended."""
    _configure(redact, structlog.processors.JSONRenderer(ensure_ascii=True), logging.INFO)


def configure_command(redact: Redact) -> None:
    """Log plain lines from WARNING up, for a command that a person runs."""
    _configure(redact, _plain_line, logging.WARNING)


def _configure(redact: Redact, render: Processor, level: int) -> None:
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _Redacted(render, redact),
            ],
        )
    )
    _take_over(handler, level)
    _log_crashes()


def _take_over(handler: logging.Handler, level: int) -> None:
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(capture=True)
    for name in list(logging.root.manager.loggerDict):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


class _Redacted:
    """The last processor: a whole line is redacted, whatever field a secret came in."""

    def __init__(self, render: Processor, redact: Redact) -> None:
        self._render = render
        self._redact = redact

    def __call__(self, logger: WrappedLogger, name: str, event: EventDict) -> str:
        return self._redact(str(self._render(logger, name, event)))


def _plain_line(_logger: WrappedLogger, _name: str, event: EventDict) -> str:
    level, what = event.pop("level", "info"), event.pop("event", "")
    event.pop("at", None)
    event.pop("logger", None)
    facts = "".join(f" {name}={value}" for name, value in event.items())
    return f"{level}: {what}{facts}".translate(_ESCAPED)


def _log_crashes() -> None:
    log = structlog.get_logger("crash")

    def crashed(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return
        log.critical("crashed", exc_info=(kind, error, trace))

    def thread_crashed(args: threading.ExceptHookArgs) -> None:
        error = args.exc_value or args.exc_type()
        crashed(args.exc_type, error, args.exc_traceback)

    sys.excepthook = crashed
    threading.excepthook = thread_crashed
