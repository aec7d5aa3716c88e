from mergebot.domain.limits import LOG_BYTES_MAX
from tests.contract.store.conftest import Kit
from tests.support.sample import LANE

HALF = LOG_BYTES_MAX // 2


def test_a_log_is_read_from_an_offset_while_it_grows(kit: Kit) -> None:
    assert kit.logs.read(LANE, "r1") == (b"", 0)
    kit.logs.append(LANE, "r1", b"one\n")
    text, offset = kit.logs.read(LANE, "r1")
    kit.logs.append(LANE, "r1", b"two\xff\n")
    kit.logs.append(LANE, "r1", b"")
    assert text == b"one\n"
    assert kit.logs.read(LANE, "r1", offset=offset) == (b"two\xff\n", 9)
    assert kit.logs.read(LANE, "r1", offset=9) == (b"", 9)
    assert kit.logs.read(LANE, "r1", offset=500) == (b"", 500)
    assert kit.logs.read(LANE, "r2") == (b"", 0)


def test_a_log_up_to_the_cap_is_whole(kit: Kit) -> None:
    kit.logs.append(LANE, "r1", b"a" * (HALF + 1))
    kit.logs.append(LANE, "r1", b"b" * (HALF - 1))
    assert kit.logs.read(LANE, "r1") == (b"a" * (HALF + 1) + b"b" * (HALF - 1), LOG_BYTES_MAX)
    assert kit.logs.read(LANE, "r1", offset=LOG_BYTES_MAX - 2)[0] == b"bb"


def test_a_longer_log_keeps_its_start_and_its_end(kit: Kit) -> None:
    kit.logs.append(LANE, "r1", b"a" * HALF)
    for letter in b"bcdefghi":
        kit.logs.append(LANE, "r1", bytes([letter]) * 100_000)
    end = HALF + 800_000
    text, offset = kit.logs.read(LANE, "r1")
    marker = f"\n[... {800_000 - HALF} bytes left out ...]\n".encode()
    kept = (b"g" * 100_000 + b"h" * 100_000 + b"i" * 100_000)[-HALF:]
    assert text == b"a" * HALF + marker + kept
    assert offset == end


def test_a_reader_who_fell_behind_skips_what_was_dropped(kit: Kit) -> None:
    kit.logs.append(LANE, "r1", b"a" * HALF + b"b" * 10)
    _, offset = kit.logs.read(LANE, "r1")
    kit.logs.append(LANE, "r1", b"c" * 3 * HALF)
    text, end = kit.logs.read(LANE, "r1", offset=offset)
    assert text == f"\n[... {2 * HALF} bytes left out ...]\n".encode() + b"c" * HALF
    assert end == 4 * HALF + 10
    assert kit.logs.read(LANE, "r1", offset=end - 3) == (b"ccc", end)
