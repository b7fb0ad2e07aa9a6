"""Identify the Kafka cluster, with the client of Spark's connector."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streams.errors import SurroundingsError
from streams.kafka import Cluster
from streams.monitor.access import java_properties

TIMEOUT_MS = 15_000


def cluster_id(spark: SparkSession, cluster: Cluster, *, timeout_ms: int = TIMEOUT_MS) -> str:
    """Return the id of the cluster; raise SurroundingsError if no broker responds."""
    asked = java_properties(cluster)
    jvm = spark._jvm
    assert jvm is not None
    properties = jvm.java.util.Properties()
    for name, value in asked.items():
        properties.setProperty(name, value)
    properties.setProperty("default.api.timeout.ms", str(timeout_ms))
    properties.setProperty("request.timeout.ms", str(timeout_ms))
    try:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
        try:
            return str(admin.describeCluster().clusterId().get())
        finally:
            admin.close()
    except Py4JJavaError as error:
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        raise SurroundingsError(
            f"No Kafka cluster answers at {cluster.bootstrap}: {cause.getMessage()}",
            "Is it running? Is --bootstrap HOST:PORT correct?",
        ) from error
