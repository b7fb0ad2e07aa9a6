"""All paths of one message: the graph, the counts, and the tree."""
