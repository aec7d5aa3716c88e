"""What a doctor finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `advice` is "" where all is well, and `hint` is what could be better."""

    about: str
    found: str
    advice: str = ""
    hint: str = ""

    @property
    def well(self) -> bool:
        """Tell whether there is nothing that has to be done."""
        return not self.advice
