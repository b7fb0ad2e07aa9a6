"""The statements of an application as commands: begin, send, receive, end."""
