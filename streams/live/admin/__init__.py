"""Changes to a system that works: T-SQL, failover, partitions, statements that are given up."""
