"""Running candidate code: where it can reach nothing, or plain where that was chosen."""
