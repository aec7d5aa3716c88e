"""The doors that speak HTTP: webhooks, the API, the pages people read, and health."""
