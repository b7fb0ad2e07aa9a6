"""Every path of one message: the graph in which it travels, its paths counted, shown as a tree."""
