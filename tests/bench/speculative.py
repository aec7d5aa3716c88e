"""Twenty candidates, a gate of 2 s and four workers, against one worker and the bare loop."""

from collections.abc import Iterator

from tests.bench.fleet import check_landed, gate_of, land_by_loop, land_by_product, make_fleet
from tests.bench.report import Row, at_least
from tests.bench.stack import stack

COUNT = 20
GATE_S = 2.0
WORKERS = 4
MIDDLE = 9


def measure() -> Iterator[Row]:
    """Measure the serial queue, the loop, and the speculative queue without and with a failure."""
    gate = gate_of(GATE_S)
    with stack() as running:
        serial = make_fleet(running, "serial", gate, count=COUNT)
        loop = make_fleet(running, "loop", gate, count=COUNT)
        good = make_fleet(running, "good", gate, count=COUNT)
        bad = make_fleet(running, "bad", gate, count=COUNT, broken=[MIDDLE])
        running.bot([serial.repo], workers=1)
        serial_s = land_by_product(running, serial)
        loop_s = land_by_loop(running, loop)
        running.bot([good.repo, bad.repo], workers=WORKERS)
        good_s = land_by_product(running, good)
        bad_s = land_by_product(running, bad)
        for fleet in (serial, good, bad):
            check_landed(running, fleet)
    took = f"serial {serial_s:.1f} s, loop {loop_s:.1f} s, speculative"
    bound = COUNT * GATE_S / WORKERS
    detail = f"{took} {good_s:.1f} s; gates alone need {bound:.0f} s"
    part = "speculative"
    yield Row(part, "speed over the serial queue", serial_s / good_s, "x", at_least(3.3), detail)
    yield Row(part, "speed over the bare loop", loop_s / good_s, "x")
    detail = f"{took} {bad_s:.1f} s, number {MIDDLE + 1} of {COUNT} red"
    yield Row(part, "the same, one failing", serial_s / bad_s, "x", at_least(2.5), detail)
