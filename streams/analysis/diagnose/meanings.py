"""Errors that occur only in transmission_status; :mod:`streams.errors` explains the others."""

from __future__ import annotations

from collections.abc import Mapping

from streams.errors import text_of

_MEANINGS: Mapping[int, str] = {
    8494: "there is no permission on the target service",
    9642: "the connection to another broker failed",
    9666: "the transport is disabled or not configured",
    9727: "no remote service binding for the target service, and the dialog is encrypted",
    9728: "the user of the dialog's certificate is not valid",
    9730: "the user of the dialog's certificate has no login",
    9731: "a user has no certificate",
    9733: "a certificate has no private key",
    9734: "a private key's length is not supported",
    9735: "a public key's length is not supported",
    9736: "the dialog's transmission failed",
    9737: "a private key is protected by a password",
    9749: "the target queue is busy",
    9751: "authentication failed",
    9752: "the account is not permitted to log in to the other server",
    9754: "the connection could not be made",
    9755: "the connection broke while receiving",
    9756: "an exception occurred while connecting",
    9757: "the other side speaks another protocol",
    9758: "the login could not be negotiated",
    9759: "the connection broke while sending",
    9767: "a certificate is not active for BEGIN DIALOG",
    9768: "a user was dropped while the dialog began",
    9771: "the server is in single-user mode",
    9780: "the broker manager is starting",
    9781: "the broker manager is stopping",
    9782: "an exception occurred while dispatching",
    9783: "the host name could not be resolved",
    9788: "msdb is not available for routing",
    9790: "msdb is in single-user mode",
    9793: "the target service name could not be found",
    9797: "the routes are being changed",
    28005: "the message could not be put into the target queue",
    28011: "a certificate or key has expired or is not valid",
    28012: "the broker in the target database is unavailable",
    28014: "the database is read-only",
    28015: "the database is in single-user mode",
    28018: "the database is a mirror",
    28024: "a certificate is not valid yet",
    28025: "a certificate has expired",
    28026: "the handshake failed: out of memory",
    28027: "the handshake failed: no algorithm or protocol in common",
    28028: "the handshake failed: the other side closed the connection",
    28029: "the handshake failed: an unexpected event",
    28030: "the handshake failed in the network interface",
    28031: "the handshake failed in the operating system",
    28034: "the login has no CONNECT permission on the endpoint",
    28035: "the handshake failed: the other side's certificate is not valid",
    28036: "the handshake failed: the endpoint's certificate was not found",
    28037: "the handshake failed: the certificate's private key cannot be used",
    28038: "the handshake failed: its verification failed",
    28045: "the handshake failed: the certificate differs from that in master",
    28047: "a login attempt failed",
    28048: "a user's login attempt failed",
    28050: "the dialog's session keys need the database master key",
    28051: "a session key cannot be saved without a database master key",
    28054: "the database master key cannot be opened",
    28072: "the transmitter failed and will resume",
    28073: "the transmitter is out of memory and will resume",
    28075: "the sender's database is in single-user mode",
    28080: "the handshake failed: there is no such endpoint",
    28090: "sent messages could not be removed from the transmission queue",
}


def meaning(number: int) -> str:
    """Return the meaning of an error in transmission_status, in Hopline's words."""
    return _MEANINGS.get(number) or text_of(number)
