"""Records and values as a person reads them."""
