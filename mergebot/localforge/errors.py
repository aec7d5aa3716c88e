"""Refusals in GitHub's words: a status, a message, and where it helps a list of field errors."""

from http import HTTPStatus
from typing import Any

DOCUMENTATION = "https://docs.github.com/rest"


class ApiError(Exception):
    """A request is refused; carries exactly what the client will read."""

    def __init__(self, status: int, message: str, errors: list[Any] | None = None) -> None:
        super().__init__(message)
        self.status = int(status)
        self.message = message
        self.errors = errors

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the refusal."""
        body: dict[str, Any] = {"message": self.message}
        if self.errors is not None:
            body["errors"] = self.errors
        return body | {"documentation_url": DOCUMENTATION, "status": str(self.status)}


def not_found() -> ApiError:
    """Return GitHub's answer for what is absent or may not be seen."""
    return ApiError(HTTPStatus.NOT_FOUND, "Not Found")


def forbidden(message: str) -> ApiError:
    """Return a refusal for a caller that is known but may not do this."""
    return ApiError(HTTPStatus.FORBIDDEN, message)


def unprocessable(message: str, errors: list[Any] | None = None) -> ApiError:
    """Return a refusal of well-formed input that cannot be carried out."""
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, message, errors)


def invalid(resource: str, field: str, code: str = "invalid") -> ApiError:
    """Return the refusal of one field: `missing_field`, `invalid`, `already_exists`."""
    error = {"resource": resource, "code": code, "field": field}
    return unprocessable("Validation Failed", [error])


def custom(resource: str, message: str, field: str | None = None) -> ApiError:
    """Return a refusal whose reason is a sentence of its own."""
    error = {"resource": resource, "code": "custom", "message": message}
    if field is not None:
        error["field"] = field
    return unprocessable("Validation Failed", [error])
