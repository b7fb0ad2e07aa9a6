"""A forwarder without Kafka: ``decide`` takes a record and returns its outcome.

``decide`` finds the record's route in ``plan_cache`` and, if there are several addresses, chooses
one by ``turn``; ``report_drop`` reports a copy that is not forwarded. ``lane`` is the decision that
the copies of a route share, and ``holding`` buffers copies for an unreachable next hop. ``outcome``
and ``ports`` define the values and the interfaces.
"""
