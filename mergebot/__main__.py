"""`python -m mergebot` is `mergebot`."""

from mergebot.cli.main import main

if __name__ == "__main__":
    main()
