"""Signing people in through GitHub's own page, by OAuth's code flow with PKCE."""

import base64
import hashlib
from dataclasses import dataclass, field
from urllib.parse import urlencode

import requests

from mergebot.ports.errors import Refused, Unavailable

ANSWER_S = 10.0
CODE_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class OAuthSignIn:
    """An OAuth App at the forge whose pages lie at `pages`; it asks for no scope at all.

    Without a scope the token says who somebody is, and what is public; it is used once for that.
    """

    pages: str
    client_id: str
    secret: str = field(repr=False)

    def address(self, state: str, back: str, *, verifier: str) -> str:
        """Return where to send somebody who shall come back to `back` with `state`."""
        digest = hashlib.sha256(verifier.encode()).digest()
        query = {
            "client_id": self.client_id,
            "redirect_uri": back,
            "state": state,
            "scope": "",
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{self.pages}/login/oauth/authorize?{urlencode(query)}"

    def token(self, code: str, back: str, *, verifier: str) -> str:
        """Return the forge token of whoever came back with `code`; raises Refused, Unavailable."""
        if not 0 < len(code) <= CODE_CHARS_MAX:
            raise Refused("the forge sent nobody back with a code: begin again")
        body = {
            "client_id": self.client_id,
            "client_secret": self.secret,
            "code": code,
            "redirect_uri": back,
            "code_verifier": verifier,
        }
        url, headers = f"{self.pages}/login/oauth/access_token", {"Accept": "application/json"}
        try:
            answer = requests.post(
                url, data=body, headers=headers, timeout=ANSWER_S, allow_redirects=False
            )
            found = answer.json()
        except (requests.RequestException, ValueError) as error:
            raise Unavailable("the forge does not answer the sign-in") from error
        token = found.get("access_token") if isinstance(found, dict) else None
        if not isinstance(token, str) or not token:
            raise Refused("the forge does not know this sign-in any more: begin again")
        return token
