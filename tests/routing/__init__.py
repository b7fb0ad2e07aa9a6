"""The routing decision, held against the documentation and against an independent transcription."""
