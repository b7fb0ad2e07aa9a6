"""Commands that run a system, or change a running one."""
