"""What became of it: read from Kafka, from captures, from the monitor's figures."""
