"""What importing the package and making the first client cost, next to what they stand on."""
