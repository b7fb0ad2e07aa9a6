"""Decide whether dialog security lets a dialog through, as ``ssbdiagnose`` does."""
