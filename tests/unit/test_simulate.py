import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from mergebot.cli.main import run
from mergebot.domain.policy import QueuePolicy
from mergebot.ports.errors import Refused
from mergebot.services.simulation import traces
from mergebot.services.simulation.baselines import batches, oracle, prefix_window, serial
from mergebot.services.simulation.engine import Ledger
from mergebot.services.simulation.measuring import measure, quantile
from mergebot.services.simulation.production import production, trusting
from mergebot.services.simulation.world import Change, Conditions, World, draw

HEAD = "seq,pr,sha,push_last,merge,files\n"


def world(count: int = 60, load: float = 0.9, seed: int = 1, **changes: object) -> World:
    conditions = Conditions(**changes)  # type: ignore[arg-type]  # the dataclass checks the names
    arrivals = traces.paced(traces.poisson(count, seed), traces.Load(load), conditions)
    return draw(arrivals, conditions, seed)


def bad(drawn: World) -> set[int]:
    return {change for change, is_bad in enumerate(drawn.bad) if is_bad}


def mean_s(drawn: World, ledger: Ledger) -> float:
    return measure(drawn, ledger).mean_s


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_the_planner_lands_what_is_good_and_refuses_what_is_bad(batch: int) -> None:
    drawn = world(fail=0.2, workers=3)
    ledger = production(drawn, QueuePolicy(batch=batch))
    assert set(ledger.refused) == bad(drawn)
    assert set(ledger.landed) == set(range(60)) - bad(drawn)


def test_without_groups_the_planner_is_a_prefix_window_to_the_second() -> None:
    drawn = world(fail=0.15, workers=4)
    one, other = production(drawn, QueuePolicy()), prefix_window(drawn, 8)
    assert one.landed == other.landed
    assert one.refused.keys() == other.refused.keys()


def test_judging_a_red_change_costs_gate_time_and_waits_for_nobody_who_lands() -> None:
    drawn = world(fail=0.15, workers=4, load=0.3)
    judged, plain = production(drawn, QueuePolicy()), prefix_window(drawn, 8)
    assert judged.runs > plain.runs
    assert judged.busy_s > plain.busy_s
    assert all(judged.refused[change] >= plain.refused[change] for change in plain.refused)
    assert judged.landed == plain.landed


def test_a_flaky_failure_is_found_out_on_an_idle_worker() -> None:
    drawn = world(fail=0.0, flake=0.05, load=0.3)
    assert len(production(drawn, QueuePolicy()).refused) < len(prefix_window(drawn, 16).refused)


def test_the_same_seed_gives_the_same_simulation() -> None:
    ledgers = [production(world(flake=0.05, clash=0.02), QueuePolicy(batch=0)) for _ in range(2)]
    assert ledgers[0] == ledgers[1]


def test_nobody_is_faster_than_the_oracle_without_groups() -> None:
    drawn = world(fail=0.1)
    best = mean_s(drawn, oracle(drawn.again()))
    assert best <= mean_s(drawn, production(drawn, QueuePolicy())) < mean_s(drawn, serial(drawn))


def test_groups_pay_under_load() -> None:
    drawn = world(count=200, load=1.5)
    grouped = mean_s(drawn, production(drawn, QueuePolicy(batch=0)))
    assert grouped < 0.7 * mean_s(drawn, prefix_window(drawn, 16))


def test_the_serial_queue_gates_one_at_a_time() -> None:
    drawn = world(count=20, fail=0.0, load=5.0)
    ledger = serial(drawn)
    assert ledger.busy_s == pytest.approx(sum(drawn.seconds))
    assert ledger.runs == 20


def test_a_red_batch_is_halved_down_to_the_change_at_fault() -> None:
    drawn = world(count=8, fail=0.0)
    drawn.changes = traces.burst(drawn.changes)
    drawn.bad[3] = True
    drawn.stops[3] = 0.5
    ledger = batches(drawn, 8)
    assert set(ledger.refused) == {3}
    assert len(ledger.landed) == 7


def test_two_that_clash_do_not_both_land() -> None:
    drawn = world(count=40, clash=1.0, fail=0.0, workers=4)
    landed = production(drawn, QueuePolicy(batch=0)).landed
    pairs = [(one, other) for one in landed for other in drawn.clashes[one]]
    assert any(drawn.clashes)
    assert not [pair for pair in pairs if pair[1] in landed]


def test_remembered_steps_make_a_second_run_cheaper() -> None:
    cold, warm = world(fail=0.2), world(fail=0.2, rerun=0.2)
    spent = [production(each, QueuePolicy()).busy_s for each in (cold, warm)]
    assert spent[1] < spent[0]


def test_a_load_stretches_the_arrivals() -> None:
    changes = traces.paced(traces.poisson(101, 1), traces.Load(0.5), Conditions(workers=4))
    assert changes[0].arrives_s == 0.0
    assert changes[-1].arrives_s == pytest.approx(100 * 600 / (4 * 0.5))


def test_recorded_times_are_kept() -> None:
    changes = (Change(50.0, frozenset()), Change(80.0, frozenset()))
    kept = traces.paced(changes, traces.AsRecorded(), Conditions())
    assert [each.arrives_s for each in kept] == [0.0, 30.0]


def test_the_busiest_span_is_found() -> None:
    changes = [Change(at, frozenset({str(at)})) for at in (0.0, 50.0, 55.0, 58.0, 200.0)]
    assert [each.arrives_s for each in traces.busiest(changes, 10.0)] == [50.0, 55.0, 58.0]


def test_a_trace_is_read_in_order_of_arrival() -> None:
    lines = [HEAD, "0,1,ab,20,30,a|b\n", "1,2,cd,10,40,\n"]
    found = traces.read_trace(lines, "t.csv")
    assert [each.arrives_s for each in found] == [10.0, 20.0]
    assert found[1].paths == {"a", "b"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "t.csv is no trace: its first line lacks the column push_last"),
        ("", "lacks the column push_last"),
        (HEAD, "t.csv holds no changes"),
        (HEAD + "0,1,ab,soon,30,a\n", "t.csv, line 2: push_last is 'soon', not a time"),
        (HEAD + "0,1,ab,nan,30,a\n", "t.csv, line 2: push_last is 'nan', not a time"),
        (HEAD + "0,1,ab,-5,30,a\n", "t.csv, line 2: push_last is '-5', not a time"),
        (HEAD + '0,1,ab,5,30,"a\n', "t.csv, line 2: "),
    ],
)
def test_a_file_that_is_no_trace_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        traces.read_trace(text.splitlines(keepends=True), "t.csv")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_quantiles_are_by_nearest_rank() -> None:
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.95) == 4.0
    assert quantile([], 0.5) == 0.0


def test_the_command_prints_every_policy_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--changes", "30", "--pools", "2", "--batch", "auto", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = [each["name"] for each in found["policies"]]
    assert names == ["oracle", "mergebot", "prefix window of 16", "batches of 8", "serial"]
    assert found["policies"][0]["to_oracle"]["p95_s"] == {"mean": 1.0, "within": 0.0}


def test_the_command_draws_a_picture_of_a_trace(tmp_path: Path) -> None:
    trace, picture = tmp_path / "some <trace>.csv", tmp_path / "out.svg"
    rows = [f"{n},{n},ab,{n * 60},{n * 90},f{n % 3}\n" for n in range(30)]
    trace.write_text(HEAD + "".join(rows))
    assert run(["simulate", str(trace), "--plot", str(picture)]) == 0
    drawing = ET.parse(picture).getroot()
    lines = drawing.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 5
    assert all(line.get("points") for line in lines)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nowhere.csv"], 1, "nowhere.csv cannot be read: No such file or directory."),
        (["--gate", "10x"], 2, "'10x' is no length of time"),
        (["--fail", "120%"], 2, "'120%' is no share"),
        (["--batch", "65"], 2, "'65' is neither auto nor a number from 1 to 64."),
        (["--as-recorded"], 2, "--as-recorded needs a trace"),
    ],
)
def test_bad_input_gets_one_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    assert run(["simulate", *words]) == code
    assert said in capsys.readouterr().err


def test_gates_that_share_cores_take_as_much_longer() -> None:
    changes = traces.apart(traces.burst(traces.poisson(4, 1)))
    alone = draw(changes, Conditions(workers=4, fail=0.0, landing_s=1.0), 1)
    crowded = draw(changes, replace(alone.conditions, cores=2), 1)
    last_s = max(alone.seconds)
    assert max(trusting(alone, QueuePolicy()).landed.values()) < last_s + 5
    ledger = trusting(crowded, QueuePolicy())
    assert max(ledger.landed.values()) == pytest.approx(sum(alone.seconds) / 2, rel=0.15)
    assert ledger.busy_s == pytest.approx(sum(alone.seconds))


@pytest.mark.parametrize("batch", [0, 1])
def test_seeing_that_slots_share_cores_pays(batch: int) -> None:
    drawn = world(count=150, load=0.6, workers=8, cores=2)
    seen = mean_s(drawn, production(drawn, QueuePolicy(batch=batch)))
    assert seen < 0.9 * mean_s(drawn, trusting(drawn, QueuePolicy(batch=batch)))


def test_simulate_shows_a_crowded_host_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["simulate", "--changes", "40", "--workers", "4", "--cores", "2"]
    assert run(asked) == 0
    told = capsys.readouterr().out
    assert "4 workers on 2 cores" in told
    assert "cores unseen" in told
