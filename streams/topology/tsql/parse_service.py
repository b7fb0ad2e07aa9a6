"""CREATE MESSAGE TYPE, CONTRACT, QUEUE and SERVICE."""

from __future__ import annotations

from streams.topology.findings import Source
from streams.topology.objects import Sender, Validation
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import (
    CreateContract,
    CreateMessageType,
    CreateQueue,
    CreateService,
    Statement,
)


def create_message_type(cursor: Cursor, source: Source) -> Statement:
    """Read CREATE MESSAGE TYPE from behind its first words."""
    name = cursor.dotted("the message type's name")
    cursor.authorization()
    validation, schema = Validation.NONE, None
    if cursor.accept("VALIDATION"):
        cursor.expect_mark("=")
        validation = Validation(cursor.choice(v.name for v in Validation).lower())
        if validation is Validation.VALID_XML:
            cursor.expect("WITH", "SCHEMA", "COLLECTION")
            schema = ".".join(cursor.dotted("the schema collection's name"))
    return CreateMessageType(source, name, validation, schema)


def create_contract(cursor: Cursor, source: Source) -> Statement:
    """Read CREATE CONTRACT from behind its first two words."""
    name = cursor.dotted("the contract's name")
    cursor.authorization()
    cursor.expect_mark("(")
    messages: dict[str, Sender] = {}
    while True:
        message_type = cursor.name("a message type's name")
        cursor.expect("SENT", "BY")
        messages[message_type] = Sender(cursor.choice(s.name for s in Sender).lower())
        if not cursor.accept_mark(","):
            break
    cursor.expect_mark(")")
    return CreateContract(source, name, messages)


def create_queue(cursor: Cursor, source: Source) -> Statement:
    """Read CREATE QUEUE from behind its first two words."""
    name = cursor.dotted("the queue's name")
    settings = {"STATUS": True, "RETENTION": False, "POISON_MESSAGE_HANDLING": True}
    activation: str | None = None
    if cursor.accept("WITH"):
        while True:
            word = cursor.choice((*settings, "ACTIVATION"))
            if word == "ACTIVATION":
                activation = _activation(cursor)
            else:
                settings[word] = _switch(cursor, word)
            comma = cursor.accept_mark(",")
            if not comma and cursor.token.upper not in (*settings, "ACTIVATION"):
                break
    if cursor.accept("ON"):
        cursor.name("a filegroup")
    return CreateQueue(
        source, name, settings["STATUS"], settings["RETENTION"],
        settings["POISON_MESSAGE_HANDLING"], activation,
    )  # fmt: skip


def _switch(cursor: Cursor, word: str) -> bool:
    if word != "POISON_MESSAGE_HANDLING":
        cursor.expect_mark("=")
        return cursor.on_off()
    cursor.expect_mark("(")
    cursor.expect("STATUS")
    cursor.expect_mark("=")
    on = cursor.on_off()
    cursor.expect_mark(")")
    return on


def _activation(cursor: Cursor) -> str | None:
    """Read ACTIVATION ( ... ); return the procedure unless its STATUS is OFF."""
    cursor.expect_mark("(")
    procedure, on = None, True
    while True:
        word = cursor.choice(("STATUS", "PROCEDURE_NAME", "MAX_QUEUE_READERS", "EXECUTE", "DROP"))
        if word == "EXECUTE":
            cursor.expect("AS")
            if not cursor.accept("SELF") and not cursor.accept("OWNER"):
                cursor.string("the user")
        elif word != "DROP":
            cursor.expect_mark("=")
            if word == "STATUS":
                on = cursor.on_off()
            elif word == "PROCEDURE_NAME":
                procedure = ".".join(cursor.dotted("the procedure's name"))
            else:
                cursor.integer(word)
        if not cursor.accept_mark(",") and cursor.is_mark(")"):
            break
    cursor.expect_mark(")")
    return procedure if on else None


def create_service(cursor: Cursor, source: Source) -> Statement:
    """Read CREATE SERVICE from behind its first two words."""
    name = cursor.dotted("the service's name")
    cursor.authorization()
    cursor.expect("ON", "QUEUE")
    queue = cursor.dotted("the queue's name")
    contracts: list[str] = []
    if cursor.accept_mark("("):
        contracts.append(cursor.name("a contract's name"))
        while cursor.accept_mark(","):
            contracts.append(cursor.name("a contract's name"))
        cursor.expect_mark(")")
    return CreateService(source, name, queue, tuple(contracts))
