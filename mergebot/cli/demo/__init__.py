"""`mergebot demo`: the whole product on this machine, used as anybody would use it.

It starts the forge and the bot as processes, and from then on knows them only by their addresses:
git and the REST API on one side, the bot's HTTP API on the other.
"""
