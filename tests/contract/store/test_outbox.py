from mergebot.domain.effects import DropCandidate, Effect, KeepCandidate, PublishNotice, RemoveLabel
from mergebot.domain.ids import Sha
from mergebot.domain.lane import LaneState
from mergebot.ports.store import Commit, Due, NoticeRecord, SeenHead
from tests.contract.store.conftest import Kit
from tests.support.sample import HEAD, LANE, MERGED

LATER = 1e12
NOTICE = PublishNotice(7, 1)
LABEL = RemoveLabel(7, "merge-queue")


def asked(kit: Kit, *effects: Effect) -> list[Due]:
    kit.commit(Commit(LaneState(), effects=effects))
    return list(kit.store.due_effects(LANE, LATER, limit=100))


def test_an_effect_waits_until_it_is_settled(kit: Kit) -> None:
    first, second = asked(kit, NOTICE, LABEL)
    assert {first.effect.key, second.effect.key} == {NOTICE.key, LABEL.key}
    kit.store.settle_effect(LANE, first)
    assert kit.store.due_effects(LANE, LATER, limit=100) == [second]
    kit.store.settle_effect(LANE, first)
    assert kit.store.due_effects(LANE, LATER, limit=100) == [second]


def test_the_longest_waiting_effects_come_first_up_to_the_limit(kit: Kit) -> None:
    asked(kit, NOTICE)
    asked(kit, LABEL)
    assert [due.effect for due in kit.store.due_effects(LANE, LATER, limit=1)] == [NOTICE]
    assert kit.store.due_effects(LANE, LATER, limit=0) == []


def test_a_newer_effect_replaces_the_older_and_is_not_settled_with_it(kit: Kit) -> None:
    [old] = asked(kit, KeepCandidate(7, MERGED))
    kit.store.delay_effect(LANE, old, LATER * 2)
    [new] = asked(kit, DropCandidate(7))
    assert (new.effect, new.tries) == (DropCandidate(7), 0)
    kit.store.settle_effect(LANE, old)
    kit.store.delay_effect(LANE, old, LATER * 2)
    assert kit.store.due_effects(LANE, LATER, limit=9) == [new]


def test_a_delayed_effect_is_due_later_and_lags(kit: Kit) -> None:
    due, other = asked(kit, NOTICE, LABEL)
    assert kit.store.lagging(LANE) == []
    kit.store.delay_effect(LANE, due, LATER - 1)
    assert kit.store.due_effects(LANE, LATER - 2, limit=9) == [other]
    [again] = kit.store.lagging(LANE)
    assert (again.effect, again.version, again.tries) == (due.effect, due.version, 1)
    assert kit.store.due_effects(LANE, LATER, limit=9) == [other, again]
    kit.store.settle_effect(LANE, again)
    assert kit.store.lagging(LANE) == []


def test_seen_heads_are_replaced_whole(kit: Kit) -> None:
    assert kit.store.seen_heads(LANE) == {}
    kit.store.see_heads(LANE, {7: SeenHead(HEAD, 1.0), 8: SeenHead(HEAD, 2.0)})
    newer = {8: SeenHead(Sha("9" * 40), 3.5)}
    kit.store.see_heads(LANE, newer)
    assert kit.store.seen_heads(LANE) == newer


def test_a_notice_is_remembered_per_pr(kit: Kit) -> None:
    assert kit.store.notice(LANE, 7) is None
    kit.store.keep_notice(LANE, 7, NoticeRecord(41, "x"))
    kit.store.keep_notice(LANE, 7, NoticeRecord(41, "y"))
    assert kit.store.notice(LANE, 7) == NoticeRecord(41, "y")
    assert kit.store.notice(LANE, 8) is None


def test_a_topic_is_new_once(kit: Kit) -> None:
    asked_about = ["ask:7", "ask:8", "ask:7"]
    assert [kit.store.once(LANE, topic) for topic in asked_about] == [True, True, False]


def test_whether_a_topic_is_known_can_be_asked_without_making_it_so(kit: Kit) -> None:
    assert not kit.store.asked_once(LANE, "ask:7")
    assert kit.store.once(LANE, "ask:7")
    assert kit.store.asked_once(LANE, "ask:7")
    assert not kit.store.asked_once(LANE, "ask:8")
