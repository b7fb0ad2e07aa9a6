"""Database mirroring: which partner of a mirrored pair is the principal (reference 2.4)."""
