"""Jobs, the asynchronous work at the service: launches, polls within the limits, fan-outs, batches and reviews."""
