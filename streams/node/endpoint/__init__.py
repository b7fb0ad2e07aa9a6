"""An endpoint worker without Kafka: dialogs, and the transactions that change them.

In the order in which they process an input: ``transaction`` takes a statement, a frame or a timer;
``execute`` and ``commands`` accept statements, and ``accept_message`` accepts frames;
``effects_to_records`` turns the effects into records, and ``turns`` lets dialogs transmit waiting
messages. All of these work on the ``overlay`` of what is ``committed``; ``endpoint`` opens
transactions and merges committed ones.
"""
