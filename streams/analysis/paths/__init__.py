"""All paths of one message: the graph, counting, and the tree."""
