"""The workers: Celery processes that answer the doorbell."""
