"""The command line: parse, call one service or the running bot, print."""
