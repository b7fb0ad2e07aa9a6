"""Two instances and a dialog between them: what most tests of endpoints begin with."""

from __future__ import annotations

import uuid

from streams.protocol import Limits

from .harness import Net, conversation, topology

ASKING = topology("""
instances:
  Home:
    databases:
      AW:
        broker_id: AW
        services: [Initiator]
        routes:
          - {name: BCN, service_name: SQL/ServiceBroker/BrokerConfiguration, address: LOCAL}
  N: {}
""")
"""A database that asks for the routes that it does not have, and somewhere to go to."""

PAIR = """
instances:
  ServerA:
    databases:
      DatabaseA:
        broker_id: A
        contracts: &contracts
          Orders: {Order: initiator, Reply: target, Note: any}
        services:
          InitiatorService: {queue: InitiatorQueue, contracts: []}
        routes:
          - {name: Target, service_name: TargetService, address: 'tcp://ServerB:4022'}
      Quiet:
        broker_id: Q
        broker: disabled
        services: {InitiatorService: {queue: Q}}
  ServerB:
    databases:
      DatabaseB:
        broker_id: B
        contracts: *contracts
        services:
          TargetService: {queue: TargetQueue, contracts: [Orders, DEFAULT]}
          Fussy: {queue: TargetQueue, contracts: [Orders]}
        routes:
          - {name: Initiator, service_name: InitiatorService, address: 'tcp://ServerA:4022'}
"""
A, B = "ServerA/DatabaseA", "ServerB/DatabaseB"
TARGET, INITIATOR = "DatabaseB/TargetQueue", "DatabaseA/InitiatorQueue"
D1 = conversation(1)


def pair(limits: Limits | None = None) -> Net:
    """Return ServerA and ServerB with a route each way, and nothing said."""
    return Net(topology(PAIR), limits)


def talking(*bodies: bytes, dialog: uuid.UUID = D1) -> Net:
    """Return the pair with a dialog under which messages have been sent and acknowledged."""
    net = pair()
    net.begin(A, dialog)
    net.send(A, dialog, *bodies)
    net.settle()
    return net
