"""What is written down of launches, so that none is lost and none is paid twice."""
