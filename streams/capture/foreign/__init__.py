"""Traffic that others have recorded: SQL Server's traces and views, message logs; made a capture.

Readers (``xevents``, ``trace``, ``views``, ``log``) turn rows into values (:mod:`findings`); these
are staged in a temporary database, because only all of them together say who talked to whom and in
which order; :mod:`assemble` writes what came of it as a capture.
"""
