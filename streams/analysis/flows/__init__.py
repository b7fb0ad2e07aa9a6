"""The flows of a whole estate, their targets, and their single points of failure."""
