"""Changes to a running system: T-SQL, failover, partitions, skipped statements."""
