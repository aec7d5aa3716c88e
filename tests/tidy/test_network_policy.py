"""Tests talk to this machine only."""

import socket

import pytest
from pytest_socket import SocketConnectBlockedError


def test_a_connection_that_leaves_this_machine_is_refused() -> None:
    refused = pytest.raises(SocketConnectBlockedError)
    with socket.socket() as outgoing, pytest.warns(UserWarning, match=r"192\.0\.2\.1"), refused:
        outgoing.connect(("192.0.2.1", 80))
