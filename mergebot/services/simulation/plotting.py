"""The comparison as a picture: which share of the changes has landed after how long."""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

from mergebot.domain.wording import duration
from mergebot.services.simulation.comparing import Played

WIDTH, HEIGHT = 860, 480
LEFT, TOP, RIGHT, BOTTOM = 64, 48, 190, 56
POINTS = 160
COLOURS = ("#555555", "#0b6e4f", "#1f5fbf", "#b35900", "#8a2be2")
DASHES = ("6 4", "", "2 3", "8 3 2 3", "1 4")
GRID = "#d8d8d8"
TEXT = "#222222"


def plot(played: Sequence[Played], title: str) -> str:
    """Return an SVG of every policy's turnarounds, as shares landed over time on a log scale."""
    waits = {each.name: sorted(w for pool in each.pools for w in pool.waits) for each in played}
    known = [wait for each in waits.values() for wait in each if wait > 0]
    if not known:
        return _frame(title, ["<text x='64' y='96'>Nothing landed.</text>"])
    low, high = log10(min(known)), log10(max(known))
    scale = _Scale(floor(low * 4) / 4, max(ceil(high * 4) / 4, floor(low * 4) / 4 + 0.25))
    body = [*scale.grid()]
    styles = zip(COLOURS, DASHES, strict=True)
    for number, (name, (colour, dash)) in enumerate(zip(waits, styles, strict=False)):
        body.append(_line(waits[name], scale, colour=colour, dash=dash))
        body.append(_legend(name, number, colour=colour, dash=dash))
    return _frame(title, body)


class _Scale:
    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def x(self, wait_s: float) -> float:
        share = (log10(max(wait_s, 1e-9)) - self.low) / (self.high - self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, share: float) -> float:
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def grid(self) -> list[str]:
        """Return lines and labels: a label for each tenfold time that is in range."""
        lines = []
        for share in (0.0, 0.25, 0.5, 0.75, 0.95, 1.0):
            y = self.y(share)
            lines.append(_rule(LEFT, y, WIDTH - RIGHT, y))
            lines.append(_label(LEFT - 8, y + 4, f"{share:.0%}", "end"))
        ticks = [10 ** (self.low + step * (self.high - self.low) / 5) for step in range(6)]
        for tick in ticks:
            x = self.x(tick)
            lines.append(_rule(x, TOP, x, HEIGHT - BOTTOM))
            lines.append(_label(x, HEIGHT - BOTTOM + 18, duration(tick), "middle"))
        middle = (LEFT + WIDTH - RIGHT) / 2
        return [*lines, _label(middle, HEIGHT - 12, "from arrival to landing", "middle")]


def _line(waits: Sequence[float], scale: _Scale, *, colour: str, dash: str) -> str:
    count = len(waits)
    places = sorted({ceil(count * step / POINTS) for step in range(1, POINTS + 1)}) if count else []
    points = [f"{scale.x(waits[at - 1]):.1f},{scale.y(at / count):.1f}" for at in places]
    return (
        f"<polyline fill='none' stroke='{colour}' stroke-width='2' stroke-dasharray='{dash}' "
        f"points='{' '.join(points)}'/>"
    )


def _legend(name: str, number: int, *, colour: str, dash: str) -> str:
    x, y = WIDTH - RIGHT + 16, TOP + 10 + 22 * number
    line = f"<line x1='{x}' y1='{y}' x2='{x + 28}' y2='{y}' stroke='{colour}' stroke-width='2' "
    return f"{line}stroke-dasharray='{dash}'/>{_label(x + 36, y + 4, name, 'start')}"


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{GRID}'/>"


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{escape(text)}</text>"


def _frame(title: str, body: Sequence[str]) -> str:
    name = escape(title)
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' "
        f"aria-label='{name}' font-family='sans-serif' font-size='12' fill='{TEXT}'>"
    )
    back = f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#ffffff'/>"
    caption = f"<text x='{LEFT}' y='24' font-size='15'>{name}</text>"
    return "\n".join([head, f"<title>{name}</title>", back, caption, *body, "</svg>", ""])
