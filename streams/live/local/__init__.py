"""The system on this machine: `up` starts it, a supervisor runs its processes, `down` ends them."""
