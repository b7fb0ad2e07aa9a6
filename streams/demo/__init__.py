"""The demonstration that `hopline demo` runs."""
