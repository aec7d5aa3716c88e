import json
from pathlib import Path

import pytest

from tests.simulation.campaign import Tally, run
from tests.simulation.conftest import gathered
from tests.simulation.town import live

CHUNKS = 16
SEEDS = 125

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_seed_breaks_a_promise(chunk: int, chunks: Path) -> None:
    tally = Tally()
    run(range(chunk * SEEDS, (chunk + 1) * SEEDS), tally)
    written = chunks / f"{chunk}.tmp"
    written.write_text(json.dumps(tally.document()))
    written.rename(chunks / f"{chunk}.json")
    done = len(list(chunks.glob("*.json"))) == CHUNKS
    # Whoever ends last has every chunk before it.
    assert not done or not gathered(chunks).lacking()


def test_a_seed_tells_the_same_story_twice() -> None:
    assert [live(seed).story for seed in range(40, 44)] == [
        live(seed).story for seed in range(40, 44)
    ]
