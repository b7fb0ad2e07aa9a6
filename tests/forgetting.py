"""Let Kafka forget a group, as it does ``offsets.retention.minutes`` after its last member leaves.

Deleting the group has the same effect: no offsets remain.
"""

from __future__ import annotations

from streams.kafka import Cluster, KafkaError, KafkaException
from tests.running import eventually


def forget(cluster: Cluster, group: str) -> None:
    """Delete a group, once it has no members any more."""
    admin = cluster.admin()

    def gone() -> bool:
        try:
            admin.delete_consumer_groups([group])[group].result()
        except KafkaException as error:  # a static member stays until its session is over
            assert error.args[0].code() == KafkaError.NON_EMPTY_GROUP
            admin.poll(0.5)
            return False
        return True

    assert eventually(gone, "the group is gone")
