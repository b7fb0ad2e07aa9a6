"""Every way of one message: the graph in which it travels, its ways counted, shown as a tree."""
