"""Several addresses on several levels: retries come to every way, there and back."""

from __future__ import annotations

from streams.protocol import Limits

from .evidence import shows
from .harness import Net, topology
from .places import D1

WAYS = """
instances:
  A:
    databases:
      DA:
        broker_id: DA
        services: {InitiatorService: {contracts: []}}
        routes:
          - {name: R1, service_name: TargetService, address: 'tcp://G1:4022'}
          - {name: R2, service_name: TargetService, address: 'tcp://G2:4022'}
  G1:
    endpoint: {forwarding: true}
    msdb:
      routes:
        - {name: R1, service_name: TargetService, address: 'tcp://X:4022'}
        - {name: R2, service_name: TargetService, address: 'tcp://B:4022'}
  G2:
    endpoint: {forwarding: true}
    msdb:
      routes:
        - {name: R1, service_name: TargetService, address: 'tcp://X:4022'}
        - {name: R2, service_name: InitiatorService, address: 'tcp://X:4022'}
        - {name: R3, service_name: InitiatorService, address: 'tcp://A:4022'}
  X: {databases: {DX: {broker_id: DX}}}
  B:
    databases:
      DB:
        broker_id: DB
        services: {TargetService: {}}
        routes:
          - {name: R1, service_name: InitiatorService, address: 'tcp://BACK:4022'}
"""


def net_with_return_to(back: str) -> Net:
    """Return the net; ``back`` is the instance to which the target's return route leads."""
    return Net(topology(WAYS.replace("BACK", back)), Limits(retries=(1_000,)))


@shows("U-19")
def test_a_gateway_does_not_change_its_address_in_step_with_the_sender() -> None:
    """The only way is the sender's first address and the gateway's second one."""
    net = net_with_return_to("A")
    net.begin("A/DA", D1)
    net.send("A/DA", D1, b"1")
    net.run(10)
    assert net["B"].bodies("DB/TargetServiceQueue") == [b"1"]
    assert net["A"].dialog(D1, initiator=True).all_acknowledged


@shows("D2.5")
def test_acknowledgements_that_are_not_heard_try_a_gateways_other_address() -> None:
    """The gateway on the way back knows two servers, of which the second is the initiator's."""
    net = net_with_return_to("G2")
    net.begin("A/DA", D1)
    net.send("A/DA", D1, b"1")
    net.run(30)
    assert net["B"].bodies("DB/TargetServiceQueue") == [b"1"]
    assert net["A"].dialog(D1, initiator=True).all_acknowledged
