"""An endpoint worker without Kafka: dialogs, and the transactions that change them.

In the order in which an input meets them: ``transaction`` takes a statement, a frame or a timer;
``execute`` and ``commands`` accept statements, ``accept_message`` accepts frames; what they do to
dialogs becomes records by ``effects_to_records``, and ``turns`` lets dialogs transmit what waits.
All of these work on the ``overlay`` of what is ``committed``; ``endpoint`` opens transactions and
merges those that Kafka has.
"""
