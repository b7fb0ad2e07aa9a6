"""What is wrong with one flow although its messages arrive, decided for ``check`` and ``path``."""
