"""Forwarder logic without Kafka I/O: ``decide`` takes a record and returns its outcome.

``decide`` finds the record's route in ``plan_cache``; if the route has several addresses, ``turn``
chooses one of them. ``report_drop`` reports a copy that is not forwarded. ``lane`` is a decision
that all copies of a route share, and ``holding`` buffers copies for an unreachable next hop.
``outcome`` and ``ports`` define the values and the interfaces.
"""
