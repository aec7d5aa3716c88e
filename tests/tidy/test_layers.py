"""The import direction of ARCHITECTURE.md, as import-linter's contracts in pyproject.toml."""

import subprocess
import sys
from pathlib import Path

from tests.tidy.tracked import ROOT


def test_imports_point_inwards() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [linter, "--no-cache", "--no-logo"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout
