"""What the addresses of pages and API are made of."""

from starlette.convertors import Convertor, register_url_convertor


class PullNumber(Convertor[int]):
    """The number of a pull request: one that is longer than any forge's is not there."""

    regex = "[0-9]{1,10}"

    def convert(self, value: str) -> int:
        """Return the number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return how an address writes it."""
        return str(value)


register_url_convertor("pull", PullNumber())

NUMBER = "{number:pull}"
