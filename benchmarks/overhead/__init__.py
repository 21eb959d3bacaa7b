"""What the whole client costs per call over the bare transport."""
