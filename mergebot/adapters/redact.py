"""The one redactor: everything that leaves (comments, logs, pages, evidence) passes through it.

It knows every live secret by heart, also in base64 and URL-encoded form, and the shapes of
secrets that nobody told it about. Text that is redacted twice stays as it is.

    redactor = Redactor()
    redactor.add(webhook_secret)
    redactor.text("fatal: https://x-access-token:ghs_...@github.com/o/r")

Output that comes in chunks goes through `stream()`, which holds back what may be half a secret.
"""

import base64
import json
import re
import threading
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

PLACEHOLDER = "[redacted]"

SECRET_CHARS_MIN = 6
"""A shorter secret would blot out ordinary words wherever they stand."""

HELD_BYTES_MAX = 64 * 1024
"""What a stream holds back of one line; a longer line is cut where no secret is."""

TAIL_BYTES = 8 * 1024
"""What is still held back when such a line is cut: no secret but a key is longer."""

KEY_BYTES_MAX = 32 * 1024
"""The longest private key that is looked for as a whole."""

_HIDDEN = PLACEHOLDER.encode()
_BASE64_CORE_CHARS_MIN = 8
_KEY_LINE_CHARS_MIN = 16
_KEY_START = re.compile(rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_KEY_END = b"-----END "
_TOKEN_TAIL = re.compile(rb"[A-Za-z0-9_.~+/=-]*")


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a kind of secret looks like; one of `cues` (lower case) stands wherever it does.

    Searching for the cues first keeps megabytes of harmless output cheap.
    """

    cues: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    becomes: bytes = _HIDDEN


def _shape(cues: str, pattern: bytes, *, becomes: bytes = _HIDDEN) -> _Shape:
    return _Shape(tuple(cues.encode().split()), re.compile(pattern), becomes)


_AFTER = rb"\1" + _HIDDEN

# Every pattern takes time in proportion to the text: candidate code chooses what is searched.
_SHAPES = (
    _shape(
        "-----begin",
        _KEY_START.pattern
        + rb"(?:[A-Za-z0-9+/=:,\s]|-(?!-)|\\[nrt]){0,%d}+" % KEY_BYTES_MAX
        + rb"(?:-----END [A-Z ]{0,50}-----)?",
    ),
    _shape("ghp_ gho_ ghu_ ghs_ ghr_", rb"gh[pousr]_[A-Za-z0-9][A-Za-z0-9_.-]{15,}"),
    _shape("github_pat_", rb"github_pat_[A-Za-z0-9_]{16,}"),
    _shape("x-access-token:", rb"(?i)(x-access-token:)[^\s@\"'\\]+", becomes=_AFTER),
    _shape("://", rb"(://[^\s/:@\"'\\]{1,256}:)[^\s/@\"'\\]{1,4096}(?=@)", becomes=_AFTER),
    _shape(
        "authorization",
        rb"(?i)(authorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?"
        rb"(?:(?:basic|bearer|token|digest|negotiate)\s{1,4})?)[^\s\"',;\\]+",
        becomes=_AFTER,
    ),
    _shape("bearer", rb"(?i)(\bbearer )[A-Za-z0-9._~+/=-]{16,}", becomes=_AFTER),
    _shape("eyj", rb"(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{4,}+(?:\.[\w-]*)?"),
    _shape("akia asia aroa aida", rb"\bA(?:KIA|SIA|ROA|IDA)[A-Z0-9]{16}\b"),
    _shape(
        "aws",
        rb"(?i)(aws.{0,20}?secret.{0,24}?[:=]\s{0,4}\\?[\"']?)[A-Za-z0-9/+=]{40}",
        becomes=_AFTER,
    ),
)


class Redactor:
    """Hides secrets. Safe to share between threads; secrets may come and go while it is in use."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._secrets: dict[str, tuple[bytes, ...]] = {}
        self._forms: tuple[bytes, ...] = ()

    def add(self, secret: str) -> bool:
        """Hide `secret` from now on; False says that it is too short to be hidden.

        Of a secret of several lines (a key file) each long line is hidden.
        """
        parts = _parts(secret)
        with self._guard:
            for part in parts:
                self._secrets[part] = _forms(part)
            self._arrange()
        return bool(parts)

    def forget(self, secret: str) -> None:
        """Stop hiding a secret that opens nothing any more."""
        with self._guard:
            for part in _parts(secret):
                self._secrets.pop(part, None)
            self._arrange()

    def text(self, text: str) -> str:
        """Return `text` with every secret replaced by `PLACEHOLDER`."""
        encoded = text.encode("utf-8", "surrogatepass")
        hidden = self.data(encoded)
        return text if hidden == encoded else hidden.decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """Return `data` with every secret replaced by `PLACEHOLDER`."""
        for form in self._forms:
            data = data.replace(form, _HIDDEN)
        for shape in _likely(data):
            data = shape.pattern.sub(shape.becomes, data)
        return data

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return where secrets stand in `data`, as (start, end), in no order."""
        exact = [
            match.span() for form in self._forms for match in re.finditer(re.escape(form), data)
        ]
        shaped = [match.span() for shape in _likely(data) for match in shape.pattern.finditer(data)]
        return exact + shaped

    def stream(self) -> "RedactingStream":
        """Return a redactor for one output that comes in chunks."""
        return RedactingStream(self)

    def _arrange(self) -> None:
        forms = {form for forms in self._secrets.values() for form in forms}
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _likely(data: bytes) -> list[_Shape]:
    lowered = data.lower()
    return [shape for shape in _SHAPES if any(cue in lowered for cue in shape.cues)]


def _parts(secret: str) -> list[str]:
    if "\n" not in secret.strip():
        whole = secret.strip()
        hidden = len(whole) >= SECRET_CHARS_MIN and whole not in PLACEHOLDER
        return [whole] if hidden else []
    lines = (line.strip() for line in secret.splitlines())
    return [
        line for line in lines if len(line) >= _KEY_LINE_CHARS_MIN and not line.startswith("-----")
    ]


def _forms(secret: str) -> tuple[bytes, ...]:
    raw = secret.encode("utf-8", "surrogatepass")
    in_url = quote(raw, safe="")
    in_json = json.dumps(secret)[1:-1]
    written = {raw, *(form.encode() for form in (in_url, quote(raw), quote_plus(raw), in_json))}
    written.add(re.sub(r"%[0-9A-F]{2}", lambda hex_: hex_[0].lower(), in_url).encode())
    return (*written, *_base64_cores(raw))


def _base64_cores(raw: bytes) -> set[bytes]:
    """Return what base64 makes of `raw` wherever it stands within a longer text.

    Its first and last digits also depend on the neighbours, so they are left out.
    """
    cores: set[bytes] = set()
    for before in range(3):
        start, end = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            core = encode(bytes(before) + raw)[start:end]
            if len(core) >= _BASE64_CORE_CHARS_MIN:
                cores.add(core)
    return cores


@dataclass(slots=True)
class RedactingStream:
    """Redacts one output chunk by chunk: what `feed` returns may be published at once.

    Secrets do not contain line ends, private keys aside, so whole lines are let go and the rest
    is held back.
    """

    redactor: Redactor
    _held: bytearray = field(default_factory=bytearray)
    _swallowing: bool = False

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk; return what is certain, which may be nothing or more than the chunk."""
        self._held += self._swallow(chunk)
        if len(self._held) > HELD_BYTES_MAX:
            return self._let_go_in_need()
        cut = max(self._held.rfind(b"\n"), self._held.rfind(b"\r")) + 1
        return self._let_go(self._before_open_key(cut))

    def close(self) -> bytes:
        """Return the rest."""
        return self._let_go(len(self._held))

    def _before_open_key(self, cut: int) -> int:
        keys = [match.span() for match in _KEY_START.finditer(self._held, 0, cut)]
        if not keys:
            return cut
        start, end = keys[-1]
        return cut if self._held.find(_KEY_END, end, cut) >= 0 else start

    def _let_go(self, cut: int) -> bytes:
        certain = bytes(self._held[:cut])
        del self._held[:cut]
        return self.redactor.data(certain) if certain else b""

    def _let_go_in_need(self) -> bytes:
        """Cut an endless line where no secret stands; hide what continues one that has no end."""
        cut, end = len(self._held) - TAIL_BYTES, len(self._held)
        for start, stop in sorted(self.redactor.spans(bytes(self._held)), reverse=True):
            if start < cut < stop:
                cut = start
            if stop == end and start < end - TAIL_BYTES:
                self._swallowing = True
        return self._let_go(end if self._swallowing else cut)

    def _swallow(self, chunk: bytes) -> bytes:
        if not self._swallowing:
            return chunk
        match = _TOKEN_TAIL.match(chunk)
        rest = chunk[match.end() :] if match else chunk
        self._swallowing = not rest
        return rest
