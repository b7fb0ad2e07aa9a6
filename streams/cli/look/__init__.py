"""Commands that read Kafka, captures, or the monitor's figures."""
