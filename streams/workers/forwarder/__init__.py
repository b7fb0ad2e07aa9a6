"""The forwarder: from a transmission queue to the next hop, or to the endpoint worker here.

In the order in which a message meets them: ``worker`` reads it; ``transit`` lets it go the short
way of ``express``, or has ``node`` decide what becomes of it, which asks ``principals`` who has a
mirrored database. What is passed on is written by ``delivery``, or into other clusters by
``crossings``, of which each is a ``crossing``; ``waiting`` holds what cannot be. ``passed`` knows
how far all this is, and ``worker`` commits it.
"""

from streams.workers.forwarder.worker import ForwarderWorker

__all__ = ["ForwarderWorker"]
