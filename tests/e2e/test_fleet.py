"""The fleet of the demo: agents as processes, tasks that collide and stray, an agent that dies."""

import re

import pytest

from tests.support.product import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.mark.parametrize(
    "tasks",
    [10, pytest.param(140, marks=[pytest.mark.campaign, pytest.mark.timeout(1800)])],
)
def test_every_task_of_a_fleet_lands_is_escalated_or_parked_and_no_work_is_lost(tasks: int) -> None:
    shown = run("demo", "--fleet", "--tasks", str(tasks), within_s=12 * tasks)
    assert shown.code == 0, shown.out + shown.err
    told = dict(re.findall(r"^(\S.*?) {2,}(\S+)$", shown.out, re.MULTILINE))
    assert int(told["landed"]) + int(told["escalated"]) + int(told["parked"]) == tasks
    assert told["receipts in git"] == told["landed"]
    assert int(told["retries"]) >= 1
    assert int(told["reconciled claims"]) >= 1
    assert "Traceback" not in shown.err
