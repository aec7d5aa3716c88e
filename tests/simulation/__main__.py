"""python -m tests.simulation --seeds 100000 --from 0, or --seed N to replay one and read its story."""

import argparse
import sys
from time import monotonic

from tests.simulation.campaign import Broken, Tally, run, story
from tests.simulation.town import live

REPORT_EVERY = 500


def say(text: object) -> None:
    """Write a line at once, for whoever watches a long run."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Run seeds, or tell one seed's story; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int, help="replay one seed and tell its story")
    parser.add_argument("--seeds", type=int, default=2000, help="how many to run")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        ending = live(chosen.seed)
        say(story(ending) if ending.broken else "\n".join(ending.story))
        return 1 if ending.broken else 0
    tally, begun = Tally(), monotonic()
    last = chosen.first + chosen.seeds
    for start in range(chosen.first, last, REPORT_EVERY):
        try:
            run(range(start, min(start + REPORT_EVERY, last)), tally)
        except Broken as broken:
            say(broken)
            return 1
        say(f"{tally.seeds} seeds, {tally.seeds / (monotonic() - begun):.0f} a second")
    say("\n".join(tally.report()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
