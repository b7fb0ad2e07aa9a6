"""The content of pages, computed from figures by pure functions; tests need no browser."""
