import pytest

from mergebot.ports.leases import HeldLease, LeaseLost
from tests.contract.store.conftest import Kit
from tests.support.waiting import eventually


def acquire(kit: Kit, ttl_s: float = 60.0) -> HeldLease:
    lease = kit.leases.acquire("lane", ttl_s=ttl_s, purpose="tick")
    assert lease is not None
    return lease


def reacquire(kit: Kit) -> HeldLease:
    lease = eventually(
        lambda: kit.leases.acquire("lane", ttl_s=60.0, purpose="tick"),
        within_s=5.0,
        what="a lease that nobody extends ends",
    )
    assert lease is not None
    return lease


def test_a_lease_has_one_holder(kit: Kit) -> None:
    acquire(kit)
    assert kit.leases.acquire("lane", ttl_s=60.0, purpose="land") is None
    assert kit.leases.acquire("other lane", ttl_s=60.0, purpose="tick") is not None


def test_each_holder_has_a_higher_generation_and_another_token(kit: Kit) -> None:
    first = acquire(kit)
    kit.leases.release(first)
    second = acquire(kit)
    assert second.generation == first.generation + 1
    assert second.token != first.token


def test_a_raised_resource_gives_its_next_holder_a_higher_generation(kit: Kit) -> None:
    kit.leases.raise_to("lane", 1000)
    kit.leases.raise_to("lane", 7)
    assert acquire(kit).generation == 1001


def test_a_release_tells_whether_somebody_wanted_the_lease(kit: Kit) -> None:
    assert not kit.leases.release(acquire(kit))
    lease = acquire(kit)
    kit.leases.acquire("lane", ttl_s=60.0, purpose="tick")
    assert kit.leases.release(lease)
    assert not kit.leases.release(acquire(kit))


def test_an_extended_lease_is_the_same_lease_for_longer(kit: Kit) -> None:
    lease = acquire(kit, ttl_s=1.0)
    longer = kit.leases.extend(lease, ttl_s=60.0)
    assert (longer.token, longer.generation) == (lease.token, lease.generation)
    assert longer.until > lease.until
    assert kit.leases.acquire("lane", ttl_s=60.0, purpose="tick") is None


def test_a_lease_that_ended_can_neither_be_extended_nor_released(kit: Kit) -> None:
    lost = acquire(kit, ttl_s=0.05)
    newer = reacquire(kit)
    assert newer.generation > lost.generation
    with pytest.raises(LeaseLost):
        kit.leases.extend(lost, ttl_s=60.0)
    assert not kit.leases.release(lost)
    assert kit.leases.extend(newer, ttl_s=60.0).token == newer.token


def test_a_long_lease_has_one_holder_until_it_is_released(kit: Kit) -> None:
    kept = kit.leases.acquire("kept", ttl_s=10.0, purpose="tick")
    assert kept is not None
    assert kit.leases.acquire("kept", ttl_s=10.0, purpose="tick") is None
    assert kit.leases.release(kept)
    assert kit.leases.acquire("kept", ttl_s=10.0, purpose="tick") is not None


def test_a_released_lease_cannot_be_extended(kit: Kit) -> None:
    lease = acquire(kit)
    kit.leases.release(lease)
    with pytest.raises(LeaseLost):
        kit.leases.extend(lease, ttl_s=60.0)
