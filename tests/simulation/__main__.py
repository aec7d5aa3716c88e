"""python -m tests.simulation --seeds 100000 --from 0, or --seed N to replay one and read its story.

With --go-on a run names every seed that breaks a promise, and ends only after the last seed.
"""

import argparse
import sys
from time import monotonic

from tests.simulation.campaign import WHOLE_RUN, Broken, Tally, run, story
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
    parser.add_argument("--go-on", action="store_true", help="do not stop at the first that breaks")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        ending = live(chosen.seed)
        say(story(ending) if ending.broken else "\n".join(ending.story))
        return 1 if ending.broken else 0
    tally, begun, broken = Tally(), monotonic(), 0
    last = chosen.first + chosen.seeds
    for seed in range(chosen.first, last):
        try:
            run([seed], tally)
        except Broken as what:
            broken += 1
            if not chosen.go_on:
                say(what)
                return 1
            say(str(what).splitlines()[1] + f" (seed {seed})")
        if tally.seeds % REPORT_EVERY == 0:
            say(f"{tally.seeds} seeds, {tally.seeds / (monotonic() - begun):.0f} a second")
    say("\n".join(tally.report(broken)))
    lacking = tally.lacking() if tally.seeds >= WHOLE_RUN else []
    if lacking:
        say(f"not met: {', '.join(lacking)}")
    return 1 if broken or lacking else 0


if __name__ == "__main__":
    sys.exit(main())
