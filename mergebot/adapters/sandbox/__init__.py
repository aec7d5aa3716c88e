"""Running candidate code: bubblewrap where it can reach nothing, plain where that was chosen."""
