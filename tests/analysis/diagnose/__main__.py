"""Make ``docs/diagnose.md`` and its example anew."""

from tests.analysis.diagnose.page import write

write()
