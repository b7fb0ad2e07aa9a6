"""The routing decision, compared with the documentation and with an independent transcription."""
