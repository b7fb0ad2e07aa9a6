"""Import foreign recordings: SQL Server's traces and views, and message logs.

Readers (``xevents``, ``trace``, ``views``, ``log``) turn rows into values (:mod:`findings`). These
values are staged in a temporary database, because only all of them together determine the parties
and the order. :mod:`assemble` writes the result as a capture.
"""
