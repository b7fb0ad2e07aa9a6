"""An endpoint worker without Kafka: dialogs, and the transactions that change them.

On an input's path: ``transaction`` takes a statement, a frame or a timer; ``execute`` and
``commands`` accept statements, ``accept_message`` accepts frames; the effects become records by
``effects_to_records``, and ``turns`` lets dialogs transmit waiting messages. All of these work on
the ``overlay`` of what is ``committed``; ``endpoint`` opens transactions and merges committed ones.
"""
