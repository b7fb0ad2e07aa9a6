"""The system of this machine: `up` starts it, a supervisor runs its processes, `down` ends them."""
