"""Find problems of a flow whose messages arrive, for ``check`` and ``path``."""
