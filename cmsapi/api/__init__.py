"""What the service offers: operations, models, and how documents become models."""
