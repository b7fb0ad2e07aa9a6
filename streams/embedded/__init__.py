"""A real Kafka broker on this machine, without a container image, and Spark's jars.

``with Broker(folder) as broker: broker.bootstrap`` is sufficient for most uses; :class:`Brokers`
starts several.
"""

from streams.embedded.broker import Broker, prepare
from streams.embedded.brokers import Brokers
from streams.embedded.cache import cache_dir
from streams.embedded.jars import KAFKA_VERSION, SPARK_VERSION, kafka_jars, spark_jars
from streams.embedded.java import Java, find_java
from streams.embedded.properties import Beside
from streams.embedded.state import Condition, Running, default_data_dir

__all__ = [
    "KAFKA_VERSION",
    "SPARK_VERSION",
    "Beside",
    "Broker",
    "Brokers",
    "Condition",
    "Java",
    "Running",
    "cache_dir",
    "default_data_dir",
    "find_java",
    "kafka_jars",
    "prepare",
    "spark_jars",
]
