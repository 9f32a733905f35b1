"""A model behind HTTP: it predicts, learns, and saves itself.

- `schema` reads requests and writes responses; it knows JSON, and neither models nor servers.
- `service` predicts, learns and saves, one call after the other.
- `answers` keeps the answers that were sent until their labels come.
- `monitor` holds what the page shows: scores, counts and the latest predictions.
- `description` describes a model and what it has learned.
- `endpoints` is the web application, on Starlette, with its metrics for Prometheus.
- `server` runs it on uvicorn until a signal arrives, and limits what a connection may send and how
  long it may wait.

The last two need the extra `serve`. `docs/deploy.md` describes the service for its users.
"""

from __future__ import annotations
