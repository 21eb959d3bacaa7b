"""Events of a client's work, and what listens to them: hooks, the log, statistics and OpenTelemetry."""
