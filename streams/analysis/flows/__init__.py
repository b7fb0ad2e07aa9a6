"""The flows of a whole estate, what they reach, and their single points of failure."""
