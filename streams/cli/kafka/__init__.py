"""The broker of this machine, and what a cluster must have: topics, rights."""
