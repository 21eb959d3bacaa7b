"""The interface of the service: operations, models, and the conversion of documents."""
