"""What a topology reads, keeps and says about itself."""
