"""The local broker, and what a cluster needs: topics, rights."""
