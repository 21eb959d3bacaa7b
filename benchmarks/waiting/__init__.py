"""What tens of thousands of waiting jobs cost in one process: memory, CPU and the event loop's patience."""
