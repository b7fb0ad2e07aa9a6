"""Hopline: dialogs and routes of Service Broker on Kafka.

This module imports nothing, because Spark's executors import it.
"""
