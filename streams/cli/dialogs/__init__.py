"""What an application does, as commands: begin, send, receive, end."""
