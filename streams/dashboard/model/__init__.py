"""What pages show, as values made of figures: pure, so that a test needs no browser."""
