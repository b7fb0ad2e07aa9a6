"""The English texts of sys.messages for the errors that transmission_status can report.

Source: SQL Server's documentation, "Database engine events and errors", the pages 0 to 999,
8000 to 8999, 9000 to 9999, 11000 to 12999, 15000 to 15999, 28000 to 30999 and 31000 to 41399.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

TEXTS: Mapping[int, str] = {
    916: 'The server principal "%.*ls" is not able to access the database "%.*ls" under the '
    "current security context.",
    8494: "You do not have permission to access the service '%.*ls'.",
    9617: 'The service queue "%.*ls" is currently disabled.',
    9642: "An error occurred in a Service Broker/Database Mirroring transport connection endpoint, "
    "Error: %i, State: %i. (Near endpoint role: %S_MSG, far endpoint address: '%.*hs')",
    9666: "The %S_MSG protocol transport is disabled or not configured.",
    9727: "Dialog security is not available for this conversation because there is no remote "
    "service binding for the target service. Create a remote service binding, or specify "
    "ENCRYPTION = OFF in the BEGIN DIALOG statement.",
    9728: "Cannot find the security certificate because the lookup database principal ID (%i) is "
    "not valid. The security principal may have been dropped after the conversation was created.",
    9730: "Cannot find the security certificate because the lookup database principal (Id: %i) "
    "does not correspond to a server principal. The security principal may have been dropped after "
    "the conversation was created.",
    9731: "Dialog security is unavailable for this conversation because there is no security "
    "certificate bound to the database principal (Id: %i). Either create a certificate for the "
    "principal, or specify ENCRYPTION = OFF when beginning the conversation.",
    9733: "There is no private key for the security certificate bound to database principal "
    "(Id: %i). The certificate may have been created or installed incorrectly. Reinstall the "
    "certificate, or create a new certificate.",
    9734: "The length of the private key for the security certificate bound to database principal "
    "(Id: %i) is incompatible with the Windows cryptographic service provider. The key length must "
    "be a multiple of 64 bytes.",
    9735: "The length of the public key for the security certificate bound to database principal "
    "(Id: %i) is incompatible with the Windows cryptographic service provider. The key length must "
    "be a multiple of 64 bytes.",
    9736: "An error occurred in dialog transmission: Error: %i, State: %i. %.*ls",
    9737: "The private key for the security certificate bound to the database principal (ID %i) is "
    "password protected. Password protected private keys are not supported for use with secure "
    "dialogs.",
    9748: "The %S_MSG protocol transport is not available.",
    9749: "Target queue is busy; message(s) queued for delivery.",
    9750: "No route matches the destination service name for this conversation. Create a route to "
    "the destination service name for messages in this conversation to be delivered.",
    9751: "Authentication failed with error: '%.*ls'.",
    9752: "%S_MSG connection was refused. The user account of the remote server is not permitted "
    "to log in to this SQL Server: User account: '%.*ls', IP address: '%.*hs'.",
    9753: "The target service broker is unreachable.",
    9754: "Connection attempt failed with error: '%.*ls'.",
    9755: "An error occurred while receiving data: '%.*ls'.",
    9756: "An internal exception occurred while connecting to an adjacent broker: Error: %i, "
    "State: %i. %.*ls",
    9757: "Service Broker/Database Mirroring network protocol error occurred.",
    9758: "Login protocol negotiation error occurred.",
    9759: "An error occurred while sending data: '%.*ls'.",
    9767: "The security certificate bound to database principal (Id: %i) has been disabled for use "
    'with BEGIN DIALOG. See the Books Online topics "Certificates and Service Broker" for an '
    'overview and "ALTER CERTIFICATE (Transact-SQL)" for syntax to make a certificate ACTIVE FOR '
    "BEGIN_DIALOG.",
    9768: "A database user associated with the secure conversation was dropped before credentials "
    "had been exchanged with the far endpoint. Avoid using DROP USER while conversations are being "
    "created.",
    9770: "Locating routes and security information via the Broker Configuration Service.",
    9771: "The service broker manager is disabled in single-user mode.",
    9779: "Service Broker received an END CONVERSATION message on this conversation. Service "
    "Broker will not transmit the message; it will be held until the application ends the "
    "conversation.",
    9780: "The service broker manager is initializing.",
    9781: "The service broker manager is shutting down.",
    9782: "An internal exception occurred while dispatching a message: Error: %i, State: %i. %.*ls",
    9783: "DNS lookup failed with error: '%.*ls'.",
    9784: "Service Broker received an error message on this conversation. Service Broker will not "
    "transmit the message; it will be held until the application ends the conversation.",
    9785: "Invalid address specified: '%.*ls'.",
    9788: "Unable to route the incoming message. The system database msdb containing routing "
    "information is not available.",
    9789: "Unable to route the incoming message. The system database msdb containing routing "
    "information is not available. The broker is disabled in msdb.",
    9790: "Unable to route the incoming message. The system database msdb containing routing "
    "information is in SINGLE USER mode.",
    9791: "The broker is disabled in the sender's database.",
    9792: "Could not forward the message because forwarding is disabled in this SQL Server "
    "instance.",
    9793: "The target service name could not be found. Ensure that the service name is specified "
    "correctly and/or the routing information has been supplied.",
    9794: "The broker mirroring manager has not fully initialized.",
    9795: "Could not find the target broker in the local SQL Server instance.",
    9796: "The target service name matched a LOCAL route, but there is no service by that name in "
    "the local SQL Server instance.",
    9797: "Classification has been delayed because the routing information is currently being "
    "updated.",
    11215: "This message could not be delivered because the user with ID %i in database ID %i does "
    "not have permission to send to the service. Service name: '%.*ls'.",
    11219: "This message could not be delivered because the destination queue has been disabled. "
    "Queue ID: %d.",
    15404: "Could not obtain information about Windows NT group/user '%ls', error code %#lx.",
    15517: 'Cannot execute as the database principal because the principal "%.*ls" does not exist, '
    "this type of principal cannot be impersonated, or you do not have permission.",
    15581: "Please create a master key in the database or open the master key in the session "
    "before performing this operation.",
    28005: "An exception occurred while enqueueing a message in the target queue. Error: %d, "
    "State: %d. %.*ls",
    28011: "This message could not be delivered because its %S_MSG has expired or is invalid.",
    28012: "The Service Broker in the target database is unavailable: '%S_MSG'.",
    28013: "The service broker is administratively disabled.",
    28014: "The database is in read-only mode.",
    28015: "The database is in single-user mode.",
    28016: "The message has been dropped because the service broker in the target database is "
    "unavailable: '%S_MSG'.",
    28017: "The message has been dropped because the target service broker is unreachable.",
    28018: "The database is a replica of a mirrored database.",
    28020: "Could not create user token for user %d in database %d.",
    28021: "One or more messages could not be delivered to the local service targeted by this "
    "dialog.",
    28022: "An error occurred while looking up the public key certificate associated with this SQL "
    "Server instance: The certificate is not yet valid.",
    28023: "An error occurred while looking up the public key certificate associated with this SQL "
    "Server instance: The certificate has expired.",
    28024: "The security certificate bound to database principal (Id: %i) is not yet valid. Either "
    "wait for the certificate to become valid or install a certificate that is currently valid.",
    28025: "The security certificate bound to database principal (Id: %i) has expired. Create or "
    "install a new certificate for the database principal.",
    28026: "Connection handshake failed. Not enough memory available. State %d.",
    28027: "Connection handshake failed. There is no compatible %S_MSG. State %d.",
    28028: "Connection handshake failed. Could not send a handshake message because the connection "
    "was closed by peer. State %d.",
    28029: "Connection handshake failed. Unexpected event (%d) for current context (%d). State %d.",
    28030: "Connection handshake failed. A call to the SQL Server Network Interface failed: (%x) "
    "%ls. State %d.",
    28031: "Connection handshake failed. An OS call failed: (%x) %ls. State %d.",
    28034: "Connection handshake failed. The login '%.*ls' does not have CONNECT permission on the "
    "endpoint. State %d.",
    28035: "Connection handshake failed. The certificate used by the peer is invalid due to the "
    "following reason: %S_MSG. State %d.",
    28036: "Connection handshake failed. The certificate used by this endpoint was not found: "
    "%S_MSG. Use DBCC CHECKDB in master database to verify the metadata integrity of the "
    "endpoints. State %d.",
    28037: "Connection handshake failed. Error %d occurred while initializing the private key "
    "corresponding to the certificate. The SQL Server errorlog and the Windows event log may "
    "contain entries related to this error. State %d.",
    28038: "Connection handshake failed. The handshake verification failed. State %d.",
    28039: "Connection handshake failed. The receive SSPI packet is not of type of the negotiated "
    "package. State %d.",
    28045: "Connection handshake failed. The certificate used by the peer does not match the one "
    "in MASTER database with same issuer name and serial number. State %d.",
    28047: "%S_MSG login attempt failed with error: '%.*ls'. %.*ls",
    28048: "%S_MSG login attempt by user '%.*ls' failed with error: '%.*ls'. %.*ls",
    28050: "The session keys for this conversation could not be created or accessed. The database "
    "master key is required for this operation.",
    28051: "Could not save a dialog session key. A master key is required in the database to save "
    "the session key.",
    28054: "Service Broker needs to access the master key in the database '%.*ls'. Error code:%d. "
    "The master key has to exist and the service master key encryption is required.",
    28056: "This message could not be delivered because the user with ID %i in database ID %i does "
    "not have control permission on the service. Service name: '%.*ls'.",
    28058: "Service Broker could not upgrade this conversation during a database upgrade "
    "operation.",
    28059: "Connection handshake failed. The received premaster secret of size %d does not have "
    "the expected size of %d. State %d.",
    28069: "Unexpected session key when encrypting a dialog message.",
    28070: "Connection handshake failed. The received SSPI message Confirm status is unexpected. "
    "State %d.",
    28072: "A serious error occurred in the Service Broker message transmitter (operation %i): "
    "Error: %i, State: %i. Message transmission will resume in %i seconds.",
    28073: "An out of memory condition has occurred in the Service Broker message transmitter "
    "(operation %i). Message transmission will resume in %i seconds.",
    28075: "The broker in the sender's database is in single user mode. Messages cannot be "
    "delivered while in single user mode.",
    28079: "Connection handshake failed. The received SSPI packet is not of the expected "
    "direction. State %d.",
    28080: "Connection handshake failed. The %S_MSG endpoint is not configured. State %d.",
    28081: "Connection handshake failed. An unexpected status %d was returned when trying to send "
    "a handshake message. State %d.",
    28082: "Connection handshake failed. An unexpected internal failure occurred when trying to "
    "marshal a message. State %d.",
    28090: "An error occurred while deleting sent messages from the transmission queue, Error: %i, "
    "State: %i. Verify that no other operation is locking the transmission queue, and that the "
    "database is available.",
    33009: "The database owner SID recorded in the master database differs from the database owner "
    "SID recorded in database '%.*ls'. You should correct this situation by resetting the owner of "
    "database '%.*ls' using the ALTER AUTHORIZATION statement.",
}
_DIRECTIVE = re.compile(r"%(?:S_MSG|\.\*[lh]s|#lx|[dixl]s?)")


def text(number: int, *values: object) -> str:
    """Return an error's text with these values in it, and the value ``7`` for all others."""
    rest = iter(values)
    return _DIRECTIVE.sub(lambda _: str(next(rest, 7)), TEXTS[number])
