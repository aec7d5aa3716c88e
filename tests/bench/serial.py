"""Twenty candidates one after the other: one worker, against `git fetch; git rebase; gate; git push`."""

from collections.abc import Iterator

from tests.bench.fleet import check_landed, gate_of, land_by_loop, land_by_product, make_fleet
from tests.bench.report import Row, Samples, at_most
from tests.bench.stack import stack

COUNT = 20
GATE_S = 2.0
PAIRS = 2


def measure() -> Iterator[Row]:
    """Measure with a gate of 2 s once, and with an empty one in alternating pairs."""
    with stack() as running:
        slow = make_fleet(running, "slow", gate_of(GATE_S), count=COUNT)
        quick = [make_fleet(running, f"quick-{n}", gate_of(0), count=COUNT) for n in range(PAIRS)]
        by_loop = [make_fleet(running, f"loop-{n}", gate_of(0), count=COUNT) for n in range(PAIRS)]
        slow_loop = make_fleet(running, "slow-loop", gate_of(GATE_S), count=COUNT)
        running.bot([slow.repo, *(each.repo for each in quick)], workers=1)
        product, loop = Samples(), Samples()
        for one, other in zip(quick, by_loop, strict=True):
            product.add(land_by_product(running, one) / COUNT)
            loop.add(land_by_loop(running, other) / COUNT)
        slow_s = land_by_product(running, slow)
        slow_loop_s = land_by_loop(running, slow_loop)
        for fleet in (slow, *quick):
            check_landed(running, fleet)
    detail = f"product {slow_s:.1f} s, loop {slow_loop_s:.1f} s for {COUNT}"
    yield Row(
        "serial", "2 s gate: time over the loop's", slow_s / slow_loop_s, "x", at_most(1.15), detail
    )
    detail = f"product {product.median:.3f} s, loop {loop.median:.3f} s; medians of {PAIRS} pairs"
    over = product.median - loop.median
    yield Row("serial", "empty gate: added to a landing", over, "s", at_most(0.5), detail)
    per_minute = 60 / product.median
    share = f"the loop, which promises nothing, makes {60 / loop.median:.0f}"
    yield Row("safeguards", "landings a minute, all promises kept", per_minute, "/min", None, share)
