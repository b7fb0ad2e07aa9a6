"""What commands take: options that several share, and what their text must be."""
