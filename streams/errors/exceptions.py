"""The exceptions that reach a user, each with the place, the remedy and the exit code."""

from __future__ import annotations


class HoplineError(Exception):
    """An error message in one sentence; ``remedy`` is a second sentence with the action to take."""

    exit_code = 2

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


class UsageError(HoplineError):
    """The caller requested something impossible, or an object that does not exist."""


class InputError(HoplineError):
    """A file cannot be parsed; ``line`` and ``column`` count from 1 and are 0 if unknown."""

    def __init__(
        self, message: str, *, file: str, line: int = 0, column: int = 0, remedy: str = ""
    ) -> None:
        super().__init__(message, remedy)
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])
        return f"{place}: {super().__str__()}"


class SurroundingsError(HoplineError):
    """Something outside of Hopline is missing or broken: Java, a port, the Kafka cluster."""

    exit_code = 3
