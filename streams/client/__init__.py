"""What applications use: begin, send, receive and end a conversation."""
