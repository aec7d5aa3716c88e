from mergebot.cli.watching import LOOK_S, Sign, Watch
from mergebot.ports.errors import Unavailable


class Hours:
    """A clock that a test sets, and a part's sign."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sign: object = 1
        self.restarted: list[str] = []
        signs = [Sign("hands", self.read, 60.0)]
        self.watch = Watch(signs, self.restarted.append, lambda: self.now)

    def read(self) -> object:
        if isinstance(self.sign, Unavailable):
            raise self.sign
        return self.sign

    def look_for(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.now += LOOK_S
            self.watch.look()


def test_a_part_that_makes_progress_is_left_alone() -> None:
    hours = Hours()
    for value in range(5):
        hours.sign = value
        hours.look_for(50)
    assert hours.restarted == []


def test_a_silent_part_is_restarted_once_and_then_gets_its_time_again() -> None:
    hours = Hours()
    hours.look_for(70)
    assert hours.restarted == ["hands"]
    hours.look_for(115)
    assert hours.restarted == ["hands"]
    hours.look_for(20)
    assert hours.restarted == ["hands", "hands"]


def test_one_that_came_up_after_all_gets_no_more_time_than_before() -> None:
    hours = Hours()
    hours.look_for(70)
    hours.sign = 2
    hours.look_for(75)
    assert hours.restarted == ["hands", "hands"]


def test_on_a_host_where_everything_is_slow_a_part_gets_more_and_more_time() -> None:
    hours = Hours()
    hours.look_for(60 * (1 + 2 + 4 + 8) + 60)
    assert len(hours.restarted) == 4
    hours.look_for(16 * 60)
    assert len(hours.restarted) == 5
    hours.look_for(16 * 60)
    assert len(hours.restarted) == 6


def test_a_part_is_not_restarted_for_what_nobody_can_tell() -> None:
    hours = Hours()
    hours.look_for(50)
    hours.sign = Unavailable("Redis cannot be reached.")
    hours.look_for(200)
    assert hours.restarted == []
