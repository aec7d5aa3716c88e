from tests.contract.store.conftest import Kit


def test_a_delivery_stays_until_it_is_done(kit: Kit) -> None:
    assert kit.inbox.put("g1", "push", b"\x00{}\xff")
    assert kit.inbox.put("g2", "label", b"{}")
    first, second = kit.inbox.take(limit=10)
    assert (first.guid, first.event, first.body) == ("g1", "push", b"\x00{}\xff")
    assert kit.inbox.take(limit=10) == [first, second]
    kit.inbox.done(first)
    kit.inbox.done(first)
    assert kit.inbox.take(limit=10) == [second]


def test_a_delivery_is_kept_once_even_after_it_is_done(kit: Kit) -> None:
    assert [kit.inbox.put("g1", "push", b"{}") for _ in range(2)] == [True, False]
    kit.inbox.done(kit.inbox.take(limit=1)[0])
    assert not kit.inbox.put("g1", "push", b"{}")
    assert kit.inbox.depth() == 0


def test_deliveries_come_oldest_first_up_to_the_limit(kit: Kit) -> None:
    for number in range(20):
        kit.inbox.put(f"g{number}", "push", b"{}")
    assert [each.guid for each in kit.inbox.take(limit=3)] == ["g0", "g1", "g2"]
    assert kit.inbox.take(limit=0) == []
    assert kit.inbox.depth() == 20


def test_a_delivery_is_counted_before_it_runs_and_can_be_set_aside(kit: Kit) -> None:
    kit.inbox.put("g1", "push", b"{}")
    kit.inbox.put("g2", "push", b"{}")
    poison, other = kit.inbox.take(limit=2)
    assert [kit.inbox.begin(poison) for _ in range(3)] == [1, 2, 3]
    kit.inbox.put_back(poison)
    assert kit.inbox.begin(poison) == 1
    kit.inbox.set_aside(poison)
    assert [each.guid for each in kit.inbox.take(limit=9)] == [other.guid]
    assert (kit.inbox.aside(), kit.inbox.depth()) == (1, 1)
    assert not kit.inbox.put("g1", "push", b"{}")
