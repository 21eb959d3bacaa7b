"""Jobs, the service's asynchronous work: launches, polls within the rate limits, fan-outs, batches and reviews."""
