"""An endpoint worker without Kafka: dialogs, and the transactions that change them.

The modules process an input in this order: ``transaction`` takes a statement, a frame or a timer.
``execute`` and ``commands`` accept statements; ``accept_message`` accepts frames.
``effects_to_records`` turns the effects into records, and ``turns`` lets dialogs transmit waiting
messages. All these modules work on an ``overlay`` of the ``committed`` state; ``endpoint`` opens
transactions and merges committed ones. ``bodies`` describes the reader of bodies.

``validation``, with ``patterns``, checks bodies. The committed state consists of ``dialogs``, their
``groups`` and ``timers``, the ``flows`` (with ``oldest``) that limit messages in flight, and the
dialogs that are ``waiting`` for a change. ``route_requests`` and ``notices`` request missing
routes. ``retention`` determines how far the inputs may be trimmed, and ``moving`` which bodies to
move to the end of a log. ``outgoing`` defines the output.
"""
