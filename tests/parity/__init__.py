"""A scenario gives the same messages in the same order in the simulator and on Kafka workers.

``moments`` runs a scenario in the simulator and returns the expected state before each next step;
``play`` performs the steps on a real broker and waits for exactly this state. The two runs share
only the scenario and the code of ``node``. So the workers' use of positions, transactions, topics
and threads is compared with a run that has none of them.
"""
