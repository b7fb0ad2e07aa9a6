"""The content of pages, computed from figures by pure functions; tests do not need a browser."""
