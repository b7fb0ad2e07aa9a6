"""Settings, generated traffic, and the shell's completion."""
