"""What a topology reads, keeps and reports."""
