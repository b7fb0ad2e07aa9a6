"""Find problems in flows whose messages arrive, for ``check`` and ``path``."""
