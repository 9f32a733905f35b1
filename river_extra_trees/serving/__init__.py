"""A model behind HTTP: it answers, learns, and saves itself.

- `schema` reads requests and writes answers; it knows JSON, and neither models nor servers.
- `service` predicts, learns and saves, one call after the other.
- `checks` tries samples before they are learned.
- `monitor` keeps what the page shows: scores, counts and the latest answers.
- `description` says what a model is and what it has learned.
- `endpoints` is the web application, on Starlette; `telemetry` its metrics for Prometheus.
- `refusals` answers what reaches no endpoint.
- `protocol` limits what a connection may send and how long it may wait, on uvicorn and h11.
- `server` runs it until a signal comes.

The last five need the extra `serve`. `docs/deploy.md` describes the service for its users.
"""

from __future__ import annotations
