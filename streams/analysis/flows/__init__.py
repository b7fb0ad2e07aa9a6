"""Who talks to whom in a whole estate, whom each of them reaches, and what must not fail."""
