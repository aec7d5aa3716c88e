"""The sample repository: a small shop whose gate needs nothing but Python, and changes to it."""

from collections.abc import Mapping
from dataclasses import dataclass

Files = Mapping[str, str]

RULES = """\
trunk = "main"

[queue]
label = "merge-queue"
fix_label = "merge-queue-fix"

[gate]
timeout = "5m"

[[gate.steps]]
name = "build"
run = "python3 -m compileall -q shop tests"

[[gate.steps]]
name = "test"
run = "python3 -m unittest discover --quiet --start-directory tests --top-level-directory ."
"""

PRICES = '''\
"""What things cost, in cents."""

PRICES = {"apple": 30, "bread": 250, "tea": 420}


def price(name):
    return PRICES[name]


def total(names):
    return sum(price(name) for name in names)
'''

STOCK = '''\
"""What is on the shelves."""

STOCK = {"apple": 12, "bread": 3, "tea": 7}


def available(name):
    return STOCK.get(name, 0)
'''

GREETING = '''\
"""What the shop says."""


def greet(name):
    return f"Hello, {name}."
'''

TESTS = """\
import unittest

from shop import greeting, prices, stock


class ShopTest(unittest.TestCase):
    def test_total_adds_up(self):
        self.assertEqual(prices.total(["apple", "tea"]), 450)

    def test_everything_on_the_shelves_has_a_price(self):
        for name in stock.STOCK:
            self.assertGreater(prices.price(name), 0)

    def test_the_shop_is_polite(self):
        self.assertTrue(greeting.greet("Ada").startswith(("Hello", "Good")))
"""

INITIAL: Files = {
    ".mergebot.toml": RULES,
    "README.md": "# Shop\n\nA sample to play with.\n",
    "shop/__init__.py": '"""A small shop."""\n',
    "shop/greeting.py": GREETING,
    "shop/prices.py": PRICES,
    "shop/stock.py": STOCK,
    "tests/__init__.py": "",
    "tests/test_shop.py": TESTS,
}


@dataclass(frozen=True, slots=True)
class Edit:
    """What becomes of a file: `old` gives way to `new`, or all of it is new where `old` is ""."""

    path: str
    new: str
    old: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A pull request to be opened: whose, what it is called, what it edits.

    `claims` are the patterns of its claim block; without any it claims nothing.
    """

    author: str
    title: str
    edits: tuple[Edit, ...]
    claims: tuple[str, ...] = ()

    @property
    def body(self) -> str:
        """Return the description."""
        if not self.claims:
            return "A change of the demo."
        patterns = ", ".join(f'"{pattern}"' for pattern in self.claims)
        block = f'task = "{self.title}"\nclaims = [{patterns}]'
        return f"A change of the demo.\n\n```mergebot\n{block}\n```\n"


RECEIPT_CODE = '''\
"""What a customer takes home."""

from shop.prices import total


def receipt(names):
    return f"{len(names)} things: {total(names)} cents"
'''

RECEIPT_TEST = """\
import unittest

from shop.receipt import receipt


class ReceiptTest(unittest.TestCase):
    def test_it_says_the_total(self):
        self.assertEqual(receipt(["tea"]), "1 things: 420 cents")
"""

HOURS = Change(
    "ada",
    "Say when the shop is open",
    (Edit("shop/hours.py", '"""When the shop is open."""\n\nOPENS, CLOSES = 8, 18\n'),),
)
MORNING = Change(
    "agent-7",
    "Greet with a good morning",
    (Edit("shop/greeting.py", "Good morning", "Hello"),),
    claims=("shop/greeting.py",),
)
EVENING = Change(
    "ada",
    "Greet with a good evening",
    (Edit("shop/greeting.py", "Good evening", "Hello"),),
)
PEARS = Change(
    "agent-9",
    "Sell pears",
    (
        Edit("shop/prices.py", '"tea": 420, "pear": 40', '"tea": 420'),
        Edit("shop/stock.py", '"tea": 7, "pear": 20', '"tea": 7'),
    ),
    claims=("shop/prices.py", "shop/stock.py"),
)
STRAYING = Change(
    "agent-7",
    "Describe the shop",
    (
        Edit("README.md", "A small shop to play with.", "A sample to play with."),
        Edit("shop/__init__.py", "A very small shop.", "A small shop."),
    ),
    claims=("README.md",),
)
BROKEN = Change(
    "ada",
    "Round prices up",
    (Edit("shop/prices.py", "return PRICES[name] + 1", "return PRICES[name]"),),
)
RENAMED = Change(
    "ada",
    "Call the total what it is, a sum",
    (
        Edit("shop/prices.py", "def sum_of", "def total"),
        Edit("tests/test_shop.py", "prices.sum_of", "prices.total"),
    ),
)
RECEIPT = Change(
    "agent-9",
    "Print a receipt",
    (Edit("shop/receipt.py", RECEIPT_CODE), Edit("tests/test_receipt.py", RECEIPT_TEST)),
    claims=("shop/receipt.py", "tests/test_receipt.py"),
)
HASTY_PUSH = Change(
    "grace",
    "Put salt on the shelf",
    (Edit("shop/stock.py", '"bread": 3, "salt": 9', '"bread": 3'),),
)
ADDRESS = Change(
    "ada",
    "Say where the shop is",
    (Edit("shop/address.py", '"""Where the shop is."""\n\nSTREET = "Market Street 1"\n'),),
)
SUNDAYS = Change(
    "agent-9",
    "Close on Sundays",
    (Edit("shop/holidays.py", '"""When it is closed."""\n\nCLOSED = ["Sunday"]\n'),),
    claims=("shop/holidays.py",),
)
REPAIR = Change(
    "agent-7",
    "Give salt a price",
    (Edit("shop/prices.py", '"bread": 250, "salt": 90', '"bread": 250'),),
    claims=("shop/prices.py",),
)
