"""What it costs to turn an answer into models, next to parsers and other libraries of models."""
