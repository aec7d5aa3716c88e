"""A receipt as a signed statement: in-toto's form, in a DSSE envelope.

What is signed is DSSE's pre-authentication encoding of the statement, whose predicate is the
receipt without its key `dsse`. So neither the digest that chains receipts nor the signature depends
on the signature. The receipt in clear says nothing that counts unless the envelope says the same.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass

from mergebot.domain.receipts import DSSE, Receipt, canonical

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:mergebot:landing:v1"


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature of an envelope, and the name of the key that it is said to be made with."""

    key_id: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A signed statement as it was found: `payload` are the exact bytes that were signed."""

    payload: bytes
    signatures: tuple[Signature, ...]

    @property
    def signed(self) -> bytes:
        """Return the bytes that the signatures are over."""
        return encoded(self.payload)


def statement(receipt: Receipt) -> bytes:
    """Return what is signed of a receipt: that it was landed, as whom and how."""
    fields = receipt.fields
    document = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {
                "name": f"{fields.get('repo')}@{fields.get('trunk')}",
                "digest": {"gitCommit": fields.get("merged")},
            }
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": json.loads(receipt.core),
    }
    return canonical(document).encode()


def encoded(payload: bytes) -> bytes:
    """Return DSSE's pre-authentication encoding of a payload."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def enclosed(receipt: Receipt, signature: Signature) -> Receipt:
    """Return the receipt with its signed statement under `dsse`; its digest stays what it was."""
    envelope = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(statement(receipt)).decode(),
        "signatures": [
            {"keyid": signature.key_id, "sig": base64.b64encode(signature.value).decode()}
        ],
    }
    return Receipt(canonical({**json.loads(receipt.core), DSSE: envelope}))


def envelope_of(receipt: Receipt) -> Envelope | None:
    """Return a receipt's envelope, None where it has none that can be read."""
    found = receipt.fields.get(DSSE)
    if not isinstance(found, Mapping) or found.get("payloadType") != PAYLOAD_TYPE:
        return None
    given = found.get("signatures")
    payload = _bytes(found.get("payload"))
    if payload is None or not isinstance(given, list):
        return None
    return Envelope(payload, tuple(each for each in map(_signature, given) if each))


def _signature(found: object) -> Signature | None:
    if not isinstance(found, Mapping):
        return None
    key_id, value = found.get("keyid"), _bytes(found.get("sig"))
    return Signature(key_id, value) if isinstance(key_id, str) and value else None


def _bytes(text: object) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        return None
