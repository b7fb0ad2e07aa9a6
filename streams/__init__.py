"""Hopline: dialogs and routes of Service Broker on Kafka. Imports nothing: Spark loads it."""
