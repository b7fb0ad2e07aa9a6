"""The system on this machine: `up` starts it, a supervisor runs it, and `down` stops it."""
