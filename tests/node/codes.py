"""The negative codes of Error messages: when the broker creates them, and what Hopline does.

A test says with ``shows`` which code it is evidence of.
"""

from __future__ import annotations

from tests.routing.rulings import DOCUMENTED, ERRORS, NOT_EMULATED, OURS, Ruling

from .rulings import BEGIN, END, MULTIPLE, RESENDING

DATABASE_OPTIONS = "ALTER DATABASE SET options"
FIRE = "Fire and Forget: Good for the military, but not for Service Broker conversations"
RAINS = "When it rains, it pours"
HANDLING = "Handling Service Broker Error Messages"
NO_HEADERS = "a malformed frame gets no answer (event 161), because its sender is unknown"

CODES = (
    Ruling("-8408", "The target's service does not accept the contract: to the initiator.",
           DOCUMENTED, f"{RESENDING}; {BEGIN}"),
    Ruling("-8425", "The target's database does not have the contract: to the initiator.",
           DOCUMENTED, RESENDING),
    Ruling("-8428", "The receiver's database does not have the message type: to both sides.",
           DOCUMENTED, RESENDING),
    Ruling("-8430", "A body arrived for a message type with VALIDATION = EMPTY: to both sides.",
           DOCUMENTED, RESENDING),
    Ruling("-8437", "The target sent a type of the initiator: to both sides.",
           DOCUMENTED, RESENDING),
    Ruling("-8457", "The initiator sent a type of the target: to both sides.",
           DOCUMENTED, RESENDING),
    Ruling("-8459", "The fragments of a message are larger in total than any body: to both sides.",
           OURS, ERRORS),
    Ruling("-8462", "The other endpoint does not exist, or was ended WITH CLEANUP: to the sender "
           "of a new message.", DOCUMENTED, RESENDING),
    Ruling("-8468", "ALTER SERVICE ... (DROP CONTRACT), for its conversations with this contract: "
           "to this side.", f"{DOCUMENTED}; the number is our choice", f"ALTER SERVICE; {ERRORS}"),
    Ruling("-8469", "The same: to the initiator.", DOCUMENTED, f"{RESENDING}; ALTER SERVICE"),
    Ruling("-8470", "DROP SERVICE: to the other side. This side is removed without an Error.",
           DOCUMENTED, RESENDING),
    Ruling("-8472", f"Header fields are invalid. In Hopline {NO_HEADERS}.", NOT_EMULATED, ERRORS),
    Ruling("-8487", "DROP CONTRACT, for all conversations with this contract: to the other side.",
           DOCUMENTED, f"{RESENDING}; DROP CONTRACT"),
    Ruling("-8489", "The lifetime is over: to each side, by its own broker.",
           DOCUMENTED, f"{RESENDING}; {BEGIN}"),
    Ruling("-8490", "BEGIN names the broker id of a database that does not have the service: to "
           "the initiator, once two retries were answered. The messages stay in the transmission "
           "queue.", f"{DOCUMENTED}; from the second retry on is our choice",
           f"{FIRE}; {RAINS}; {RESENDING}"),
    Ruling("-8494", "The sender has no SEND permission on the service. Hopline has no permissions "
           "of services.", NOT_EMULATED, RESENDING),
    Ruling("-8495", "Another target has acknowledged the conversation before: to this target.",
           f"{DOCUMENTED}; the pairing is our choice", f"{MULTIPLE}; {RESENDING}"),
    Ruling("-8498", "The receiver has the type, but its contract does not contain it: to both "
           "sides.", DOCUMENTED, RESENDING),
    Ruling("-8499", "The body does not match its encoding. Hopline's bodies have no encoding.",
           NOT_EMULATED, ERRORS),
    Ruling("-9615", "The body is not the XML that the receiver's type requires: to the sender.",
           DOCUMENTED, f"{HANDLING}; {ERRORS}"),
    Ruling("-9616", "The same: to the receiver (C-27).", f"{DOCUMENTED}; the side is our choice",
           f"{RESENDING}; {ERRORS}"),
    Ruling("-9685", "DROP CONTRACT, for all conversations with this contract: to this side.",
           f"{DOCUMENTED}; the number is our choice", f"DROP CONTRACT; {ERRORS}"),
    Ruling("-9719", "ERROR_BROKER_CONVERSATIONS: to this side.",
           DOCUMENTED, f"{RESENDING}; {DATABASE_OPTIONS}"),
    Ruling("-9720", "The same: to the other side.", f"{DOCUMENTED}; the number is our choice",
           f"{ERRORS}; {DATABASE_OPTIONS}"),
    Ruling("-28052", "The master key was regenerated with FORCE, so session keys are lost. "
           "Hopline has no session keys.", NOT_EMULATED, RESENDING),
    Ruling("> 0", "END CONVERSATION WITH ERROR, by the application: to the other side.",
           DOCUMENTED, END),
)  # fmt: skip
