"""The hook that asks the running forge: may this ref be updated, and what becomes of refs/for.

git starts it as `update` or `proc-receive`. It runs isolated from any installed package and speaks
the least HTTP that is needed, because it is started for every push that needs it.
"""

import json
import os
import socket
import sys
from typing import Any, BinaryIO

FLUSH = b"0000"


def ask(path: str, question: dict[str, Any]) -> dict[str, Any]:
    """Return the forge's JSON answer to a question about the push under way."""
    host, port = os.environ["FORGE_ADDRESS"].rsplit(":", 1)
    body = json.dumps(question | {"ticket": os.environ["FORGE_TICKET"]}).encode()
    head = (
        f"POST {path} HTTP/1.0\r\nHost: forge\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    found: dict[str, Any] = json.loads(answer.split(b"\r\n\r\n", 1)[1])
    return found


def read(stream: BinaryIO) -> bytes | None:
    """Return the next pkt-line without its end of line, or None for a flush."""
    size = int(stream.read(4) or FLUSH, 16)
    return stream.read(size - 4).rstrip(b"\n") if size else None


def lines(stream: BinaryIO) -> list[str]:
    """Return the pkt-lines up to the next flush."""
    return [line.decode("utf-8", "replace") for line in iter(lambda: read(stream), None)]


def write(stream: BinaryIO, *texts: str) -> None:
    """Write pkt-lines and a flush."""
    for text in texts:
        data = text.encode()
        stream.write(f"{len(data) + 4:04x}".encode() + data)
    stream.write(FLUSH)
    stream.flush()


def update(ref: str, old: str, new: str) -> int:
    """Accept or refuse one ref; the reason goes to the person who pushes."""
    refusal = ask("/_forge/hook/update", {"ref": ref, "old": old, "new": new})["refusal"]
    if refusal is None:
        return 0
    sys.stderr.write(f"error: GH006: Protected branch update failed for {ref}.\n")
    sys.stderr.write(f"error: {refusal}\n")
    return 1


def proc_receive() -> int:
    """Turn pushes to refs/for/BRANCH into pull requests."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    version = lines(source)[0]
    offered = version.partition("\0")[2].split()
    agreed = [name for name in ("atomic", "push-options") if name in offered]
    write(target, "version=1\0" + " ".join(agreed))
    commands = [line.split(" ", 2) for line in lines(source)]
    options = lines(source) if "push-options" in agreed else []
    report = []
    for _, new, ref in commands:
        answer = ask("/_forge/hook/propose", {"ref": ref, "new": new, "options": options})
        sys.stderr.write(f"{answer['message']}\n")
        report.append(f"ok {ref}" if answer["accepted"] else f"ng {ref} {answer['reason']}")
    write(target, *report)
    return 0


if __name__ == "__main__":
    name = os.path.basename(sys.argv[1])  # noqa: PTH119 - pathlib would double the start-up time
    sys.exit(update(*sys.argv[2:5]) if name == "update" else proc_receive())
