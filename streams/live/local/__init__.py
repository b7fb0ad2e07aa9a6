"""The system of this machine: `up` starts it, a keeper runs its processes, `down` ends them."""
