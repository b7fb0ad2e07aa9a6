"""A scenario in the simulator and on the Kafka workers: the same messages in the same order.

``moments`` runs a scenario in the simulator and says what there is to be seen before the next step;
``play`` performs its steps on a real broker and waits for just that. The only thing that the two
runs share beside the code of ``node`` is the scenario, so whatever the workers do with positions,
transactions, topics and threads is held against a run that has none of it.
"""
