"""A process that runs workers, from start to end.

The modules in the order of use: ``plan`` lists the workers to run; ``check_start`` refuses to start
them if records could be lost; ``build_workers`` creates the workers, which implement ``worker``;
``worker_threads`` runs them until they stop, fail or hang. Meanwhile, ``trimming`` trims their
topics, and ``free_memory`` returns memory to the system. ``guid_hashes`` makes the hashes of ids
unpredictable.
"""

from streams.workers.process.guid_hashes import randomize_guid_hashes
from streams.workers.process.plan import ROLES, Plan
from streams.workers.process.process import Process
from streams.workers.process.worker import Worker

__all__ = ["ROLES", "Plan", "Process", "Worker", "randomize_guid_hashes"]
