"""The wiring: the one package that names concrete adapters and puts them behind the ports.

`desk` is what workers, the reconciler and the web work with; `redis` is the part of it that needs
no forge, no git and no Celery, for processes that only watch over others.
"""
