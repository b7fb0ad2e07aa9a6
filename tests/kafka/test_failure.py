"""What Kafka's client raises, as sentences."""

from __future__ import annotations

import pytest

from streams.kafka import KafkaError, KafkaException, worded

_MISCONFIGURED = KafkaError.INVALID_TRANSACTION_TIMEOUT


@pytest.mark.parametrize(
    ("error", "said", "remedy"),
    [
        (
            KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED),
            "K denied the request: ",
            "hopline acl",
        ),
        (KafkaError(KafkaError._TRANSPORT), "K cannot be reached: ", "hopline kafka start"),
        (KafkaError(_MISCONFIGURED, retriable=True), "K cannot be reached: ", "kafka start"),
        (KafkaError(_MISCONFIGURED), "K: Broker: Transaction timeout is larger", ""),
        (KafkaError(_MISCONFIGURED, fatal=True), "K: Broker: Transaction", "Restart."),
    ],
)
def test_an_error_is_worded_by_whose_fault_it_is(error: KafkaError, said: str, remedy: str) -> None:
    told = worded(KafkaException(error), "K")
    assert told.message.startswith(said) and told.message.endswith(".")
    assert remedy in told.remedy and bool(remedy) is bool(told.remedy)


def test_silence_has_a_cause_and_a_length() -> None:
    error = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    told = worded(error, "K", "Connection refused", " (gave up after 3 s)")
    assert told.message == "K cannot be reached: Connection refused (gave up after 3 s)."
