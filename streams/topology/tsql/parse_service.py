"""MESSAGE TYPE, XML SCHEMA COLLECTION, CONTRACT and SERVICE."""

from __future__ import annotations

from streams.topology.findings import Source
from streams.topology.objects import Sender, Validation
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import (
    AlterService,
    CreateContract,
    CreateSchema,
    CreateService,
    SetMessageType,
    Statement,
)
from streams.topology.tsql.tokens import TokenType


def create_message_type(cursor: Cursor, source: Source) -> Statement:
    """Parse CREATE MESSAGE TYPE after its first words."""
    return _message_type(cursor, source, create=True)


def alter_message_type(cursor: Cursor, source: Source) -> Statement:
    """Parse ALTER MESSAGE TYPE after its first words."""
    return _message_type(cursor, source, create=False)


def _message_type(cursor: Cursor, source: Source, *, create: bool) -> Statement:
    name = cursor.dotted("the message type's name")
    cursor.authorization()
    validation, schema = Validation.NONE, None
    if cursor.accept("VALIDATION"):
        cursor.expect_mark("=")
        validation = Validation(cursor.choice(v.name for v in Validation).lower())
        if validation is Validation.VALID_XML:
            cursor.expect("WITH", "SCHEMA", "COLLECTION")
            schema = cursor.dotted("the schema collection's name")
    return SetMessageType(source, name, create, validation, schema)


def create_contract(cursor: Cursor, source: Source) -> Statement:
    """Parse CREATE CONTRACT after its first two words."""
    name = cursor.dotted("the contract's name")
    cursor.authorization()
    cursor.expect_mark("(")
    messages: dict[str, Sender] = {}
    repeated: list[str] = []
    while True:
        message_type = cursor.name("a message type's name")
        if message_type in messages:
            repeated.append(message_type)
        cursor.expect("SENT", "BY")
        messages[message_type] = Sender(cursor.choice(s.name for s in Sender).lower())
        if not cursor.accept_mark(","):
            break
    cursor.expect_mark(")")
    return CreateContract(source, name, messages, tuple(repeated))


def create_schema(cursor: Cursor, source: Source) -> Statement | None:
    """Parse CREATE XML SCHEMA COLLECTION, unless its text is in a variable."""
    name = cursor.dotted("the schema collection's name")
    cursor.expect("AS")
    if cursor.token.text.startswith("@") and cursor.token.kind is TokenType.WORD:
        return None
    return CreateSchema(source, name, cursor.string("the schema"))


def create_service(cursor: Cursor, source: Source) -> Statement:
    """Parse CREATE SERVICE after its first two words."""
    name = cursor.dotted("the service's name")
    owner = cursor.authorization()
    cursor.expect("ON", "QUEUE")
    queue = cursor.dotted("the queue's name")
    contracts: list[str] = []
    if cursor.accept_mark("("):
        contracts.append(cursor.name("a contract's name"))
        while cursor.accept_mark(","):
            contracts.append(cursor.name("a contract's name"))
        cursor.expect_mark(")")
    return CreateService(source, name, queue, tuple(contracts), owner)


def alter_service(cursor: Cursor, source: Source) -> Statement | None:
    """Parse ALTER SERVICE after its first two words; skip ALTER SERVICE MASTER KEY."""
    if cursor.is_words("MASTER", "KEY"):
        return None
    name = cursor.dotted("the service's name")
    queue = cursor.dotted("the queue's name") if cursor.accept("ON", "QUEUE") else None
    changed: dict[str, list[str]] = {"ADD": [], "DROP": []}
    if cursor.accept_mark("("):
        while True:
            verb = cursor.choice(changed)
            cursor.expect("CONTRACT")
            changed[verb].append(cursor.name("a contract's name"))
            if not cursor.accept_mark(","):
                break
        cursor.expect_mark(")")
    elif queue is None:
        cursor.fail("ON QUEUE, or contracts in parentheses")
    return AlterService(source, name, queue, tuple(changed["ADD"]), tuple(changed["DROP"]))
