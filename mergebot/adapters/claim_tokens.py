"""Tokens of claims on an agent's machine: one file each, readable by nobody else."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ClaimTokens:
    """The tokens of sessions, kept under `home` with the generation that each was given."""

    home: Path

    def keep(self, found: dict[str, Any]) -> Path:
        """Keep what the API said of a claim; the token of one that ended is forgotten."""
        path = self._path(str(found["id"]))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if found["state"] == "ended":
            path.unlink(missing_ok=True)
            return path
        text = json.dumps({"token": found["token"], "generation": found["generation"]})
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        return path

    def known(self, claim_id: str) -> dict[str, Any]:
        """Return token and generation of a claim; without the first where none is kept."""
        try:
            found = json.loads(self._path(claim_id).read_text())
        except (OSError, ValueError):
            return {"generation": 0}
        return found if isinstance(found, dict) else {"generation": 0}

    def _path(self, claim_id: str) -> Path:
        return self.home / "claims" / f"{Path(claim_id).name}.json"
