"""Import foreign recordings: SQL Server's traces and views, and message logs.

Readers (``xevents``, ``trace``, ``views``, ``log``) turn rows into values (:mod:`findings`). These
values are staged in a temporary database, because the parties and the order are known only after
all values have been read. :mod:`assemble` writes the result as a capture.
"""
