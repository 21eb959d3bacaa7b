"""The launch journal: it keeps launches from being lost or paid twice."""
