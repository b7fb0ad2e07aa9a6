"""The content of pages, as values computed from figures: pure, so that tests need no browser."""
