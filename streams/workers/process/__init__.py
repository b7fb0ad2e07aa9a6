"""A process full of workers, from its start to its end.

In the order in which a process uses them: ``plan`` says which workers it runs; ``check_start``
refuses to run them where something would be lost; ``build_workers`` makes them, each a ``worker``;
``worker_threads`` runs them until they are to stop, fail or hang. Meanwhile ``trimming`` shortens
the topics that they read, and ``free_memory`` gives memory back.
"""

from streams.workers.process.plan import ROLES, Plan
from streams.workers.process.process import Process
from streams.workers.process.worker import Worker

__all__ = ["ROLES", "Plan", "Process", "Worker"]
