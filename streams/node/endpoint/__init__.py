"""An endpoint worker without Kafka: dialogs, and the transactions that change them.

``transaction`` is where a statement, a frame and a timer begin; ``endpoint`` is what is committed.
"""
