"""Export OpenTelemetry's spans and metrics into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from cmsapi.observability.telemetry import OpenTelemetry


@attrs.frozen
class Exported:
    """Hold the exported spans and metrics."""

    hook: OpenTelemetry
    tracers: TracerProvider
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The ended spans, in order."""
        return self.exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans with a name."""
        return [span for span in self.spans if span.name == name]

    def metrics(self) -> dict[str, list[Any]]:
        """Return the data points of each metric."""
        data = self.reader.get_metrics_data()
        return {
            metric.name: list(metric.data.data_points)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def otel() -> Iterator[Exported]:
    """A hook that exports into memory."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider(metric_readers=[reader])
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    yield Exported(OpenTelemetry(tracer_provider=tracers, meter_provider=meters), tracers, exporter, reader)
    tracers.shutdown()
    meters.shutdown()
