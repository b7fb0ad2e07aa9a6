"""Dialog security of flows, as scripts configure it: the table of "Determining the Dialog Security
Type", the certificates and keys that it needs, and the SEND permission at the target."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.analysis import find_paths, find_sender, survey_flows, survey_text
from streams.analysis.check import check_topology
from streams.analysis.paths.verdict import PathVerdict
from streams.topology import Severity, Topology, load
from tests.topology.build import NOW, write

ENDPOINT = """
CREATE ENDPOINT E STATE = STARTED AS TCP (LISTENER_PORT = 4022) FOR SERVICE_BROKER ()
GO
"""
INITIATOR = (
    ENDPOINT
    + """
USE DatabaseA
GO
CREATE QUEUE InitiatorQueue
CREATE SERVICE Initiator {owner} ON QUEUE InitiatorQueue
CREATE ROUTE ToTarget WITH SERVICE_NAME = 'Target', ADDRESS = 'TCP://ServerB:4022'
{security}
GO
CREATE PROCEDURE Place AS
    BEGIN DIALOG @h FROM SERVICE Initiator TO SERVICE 'Target' {encryption}
    END CONVERSATION @h
GO
"""
)
TARGET = (
    ENDPOINT
    + """
USE DatabaseB
GO
CREATE QUEUE TargetQueue
CREATE SERVICE Target ON QUEUE TargetQueue ([DEFAULT])
CREATE ROUTE ToInitiator WITH SERVICE_NAME = 'Initiator', ADDRESS = 'TCP://ServerA:4022'
{security}
GO
"""
)
OFF = "WITH ENCRYPTION = OFF"
BINDING = "CREATE REMOTE SERVICE BINDING B TO SERVICE 'Target' WITH USER = T;"
ANONYMOUS = BINDING.replace(";", ", ANONYMOUS = ON;")
PUBLIC = "GRANT SEND ON SERVICE::Target TO public;"
BOUND = "CREATE CERTIFICATE T AUTHORIZATION T FROM FILE = 't.cer';"
OWN = "CREATE CERTIFICATE O WITH SUBJECT = 'o';"
FULL = BINDING + BOUND + OWN
OWNER = "AUTHORIZATION U"
IMPORTED = "CREATE CERTIFICATE I AUTHORIZATION I FROM FILE = 'i.cer';"
CONTROLLED = (
    "CREATE CERTIFICATE C AUTHORIZATION C WITH SUBJECT = 'c';GRANT CONTROL ON SERVICE::Target TO C;"
)
SENDER = IMPORTED + "GRANT SEND ON SERVICE::Target TO I;"


def estate(
    folder: Path, encryption: str = "", here: str = "", there: str = "", owner: str = ""
) -> Topology:
    """Load two instances, whose scripts configure security by these statements."""
    return load(
        write(
            folder,
            ServerA=INITIATOR.format(owner=owner, security=here, encryption=encryption),
            ServerB=TARGET.format(security=there),
        ),
        NOW,
    )


def errors(topology: Topology) -> list[int]:
    """Return SQL Server's errors that ``check``, ``flows`` and ``path`` report, which agree."""
    survey = survey_flows(topology, NOW)
    [answer] = survey.answers
    assert survey.good is not bool(answer.hazards)
    place = find_sender(topology, "ServerA/DatabaseA/Initiator", "Target")
    assert find_paths(topology, place, "Target", NOW).hazards == answer.hazards
    report = check_topology(topology, NOW)
    found = [f for f in report.findings if f.severity is Severity.ERROR]
    assert sorted(found, key=str) == sorted(answer.hazards, key=str)
    obstacles = [o["error"] for s in answer.to_json()["security"] for o in s["obstacles"]]
    assert len(obstacles) == len(found)
    return sorted(obstacles)


@pytest.mark.parametrize(
    ("encryption", "here", "owner", "expected"),
    [
        # The service's owner, dbo, has a certificate.
        ("", OWN, "", [9727]),
        ("", ANONYMOUS + BOUND + OWN, "", []),
        ("", FULL, "", []),
        (OFF, OWN, "", []),
        (OFF, ANONYMOUS + BOUND + OWN, "", []),
        (OFF, FULL, "", []),
        # It has none.
        ("", "", "", [9727]),
        ("", ANONYMOUS + BOUND, "", []),
        ("", BINDING + BOUND, "", [9731]),
        (OFF, "", "", []),
        (OFF, ANONYMOUS + BOUND, "", []),
        (OFF, BINDING + BOUND, "", [9731]),
        # The owner is another user.
        ("", FULL, OWNER, [9731]),
        ("", FULL.replace("O WITH", "O AUTHORIZATION u WITH"), OWNER, []),
        ("", FULL + "ALTER AUTHORIZATION ON CERTIFICATE::O TO U", OWNER, []),
        ("", FULL + "ALTER AUTHORIZATION ON SERVICE::Initiator TO U", "", [9731]),
        ("", FULL + "GRANT CONTROL ON SERVICE::Initiator TO dbo", OWNER, [9731]),
    ],
)
def test_the_type_of_dialog_security(
    tmp_path: Path, encryption: str, here: str, owner: str, expected: list[int]
) -> None:
    topology = estate(tmp_path, encryption, here, PUBLIC + SENDER, owner)
    assert errors(topology) == expected


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        (ANONYMOUS, [9731]),
        (ANONYMOUS + BOUND.replace("AUTHORIZATION T", "AUTHORIZATION Other"), [9731]),
        (ANONYMOUS + BOUND.replace("AUTHORIZATION T", "AUTHORIZATION t"), []),
        (ANONYMOUS + BOUND + "ALTER CERTIFICATE T WITH ACTIVE FOR BEGIN_DIALOG = OFF", [9767]),
        (FULL.replace("'o'", "'o', EXPIRY_DATE = '19700105'"), [28025]),
        (FULL.replace("'o'", "'o', START_DATE = '19800101'"), [28024]),
        (FULL.replace("'o'", "'o', EXPIRY_DATE = '19700105'") + OWN.replace(" O", " O2"), []),
        (FULL.replace("CERTIFICATE O", "CERTIFICATE O ENCRYPTION BY PASSWORD = 'x'"), [9737]),
        (FULL + "ALTER CERTIFICATE O REMOVE PRIVATE KEY", [9733]),
        (FULL + "DROP MASTER KEY", [28050]),
        (FULL + "CREATE MASTER KEY", []),
        (ANONYMOUS + BOUND + "DROP MASTER KEY", [28050]),
    ],
)
def test_certificates_and_keys_of_the_initiator(
    tmp_path: Path, here: str, expected: list[int]
) -> None:
    assert errors(estate(tmp_path, "", here, PUBLIC + SENDER)) == expected


def test_scripts_without_the_initiators_service_show_no_certificates(tmp_path: Path) -> None:
    """They are a part of the database; another part may create the certificate."""
    part = INITIATOR.replace("CREATE SERVICE Initiator {owner} ON QUEUE InitiatorQueue\n", "")
    here = part.format(security=ANONYMOUS, encryption="")
    topology = load(write(tmp_path, ServerA=here, ServerB=TARGET.format(security=PUBLIC)), NOW)
    assert "TA-48" not in {f.code for f in check_topology(topology, NOW).findings}


BOUND_EXPIRED = BOUND.replace("FROM FILE = 't.cer'", "WITH SUBJECT = 't', EXPIRY_DATE = '19700105'")


def test_an_expired_certificate_is_one_finding_with_its_flow(tmp_path: Path) -> None:
    """Check reports it as TA-42, and the flow is no longer ok."""
    topology = estate(tmp_path, "", ANONYMOUS + BOUND_EXPIRED, PUBLIC)
    assert errors(topology) == [28025]
    [found] = [f for f in check_topology(topology, NOW).findings if f.code == "TA-42"]
    assert found.evidence["flows"] == ["ServerA/DatabaseA/Initiator -> Target"]
    assert survey_flows(topology, NOW).count(PathVerdict.HAZARD) == 1


@pytest.mark.parametrize(
    ("encryption", "here", "there", "expected"),
    [
        (OFF, "", "", [11215]),
        (OFF, "", PUBLIC, []),
        (OFF, "", "GRANT SEND ON SERVICE::Target TO I;", [11215]),
        (OFF, "", "GRANT SEND ON SERVICE::target TO public;", [11215]),
        (OFF, "", PUBLIC + "REVOKE SEND ON SERVICE::Target FROM public", [11215]),
        (OFF, "", PUBLIC + "DENY SEND ON SERVICE::Target TO public", [11215]),
        (OFF, "", PUBLIC + "DENY SEND ON SERVICE::Target TO I", []),
        (OFF, "", PUBLIC.replace("SEND", "VIEW DEFINITION, SEND"), []),
        (OFF, "", PUBLIC.replace("SEND", "CONTROL"), []),
        ("", ANONYMOUS + BOUND, SENDER, [11215]),
        ("", ANONYMOUS + BOUND, PUBLIC, []),
        ("", FULL, "", [11215]),
        ("", FULL, IMPORTED, [11215]),
        ("", FULL, SENDER, []),
        ("", FULL, PUBLIC + IMPORTED, []),
        ("", FULL, IMPORTED + "GRANT SEND ON SERVICE::Target TO Role", []),
        ("", FULL, IMPORTED + CONTROLLED, [11215]),
        ("", FULL, SENDER + CONTROLLED, []),
        ("", FULL, IMPORTED.replace("AUTHORIZATION I", ""), []),  # dbo needs no permission
        ("", FULL, PUBLIC + IMPORTED + "DENY SEND ON SERVICE::Target TO i", [11215]),
        ("", FULL, SENDER + "DENY SEND ON SERVICE::Target TO public", [11215]),
        ("", FULL, SENDER + "DROP MASTER KEY", [28051]),
        ("", FULL, PUBLIC + OWN.replace(" O ", " S "), [11215]),  # nobody has the initiator's
        ("", FULL, PUBLIC + OWN, []),  # both sides may share the certificate
        ("", FULL, PUBLIC + OWN.replace(" O ", " S AUTHORIZATION X "), []),
    ],
)
def test_permissions_and_keys_of_the_target(
    tmp_path: Path, encryption: str, here: str, there: str, expected: list[int]
) -> None:
    assert errors(estate(tmp_path, encryption, here, there)) == expected


def test_a_configuration_service_is_asked_for_a_binding(tmp_path: Path) -> None:
    here = (
        "CREATE ROUTE C WITH SERVICE_NAME = 'SQL/ServiceBroker/BrokerConfiguration', "
        "ADDRESS = 'LOCAL'"
    )
    [answer] = survey_flows(estate(tmp_path, "", here, PUBLIC), NOW).answers
    assert [judged.mode.value for judged in answer.security] == ["unknown"]


LOCAL = """
CREATE DATABASE DatabaseA; {database}
GO
USE DatabaseA
GO
CREATE QUEUE InitiatorQueue
CREATE SERVICE Initiator ON QUEUE InitiatorQueue
GO
CREATE PROCEDURE Place AS
    BEGIN DIALOG @h FROM SERVICE Initiator TO SERVICE 'Target' {encryption}
    END CONVERSATION @h
GO
{use}
CREATE QUEUE TargetQueue
CREATE SERVICE Target ON QUEUE TargetQueue ([DEFAULT])
GO
"""
KEYS = "USE DatabaseA CREATE MASTER KEY\nGO\nUSE DatabaseB CREATE MASTER KEY\nGO\n"


@pytest.mark.parametrize(
    ("encryption", "database", "use", "expected"),
    [
        ("WITH ENCRYPTION = ON", "", "", []),
        ("", "CREATE DATABASE DatabaseB", "USE DatabaseB", [28050, 28051]),
        ("", "CREATE DATABASE DatabaseB", KEYS, []),
        (OFF, "CREATE DATABASE DatabaseB", "USE DatabaseB", []),
        ("", "", "USE DatabaseB", [28050]),  # DatabaseB is not created here
    ],
)
def test_inside_an_instance_only_master_keys_matter(
    tmp_path: Path, encryption: str, database: str, use: str, expected: list[int]
) -> None:
    """No binding and no certificate is needed, and logins decide about permissions."""
    script = LOCAL.format(encryption=encryption, database=database, use=use)
    assert errors(load(write(tmp_path, ServerA=script), NOW)) == expected


YAML_BINDING = "bindings: [{name: B, to_service: Target, user: T}]"
SILENT = """
    instances:
      ServerA:
        databases:
          DatabaseA:
            services: {Initiator: {contracts: []}}
            procedures: {P: {begins: [{service: Initiator, to: Target%s}], ends: 1}}
            routes: [{name: R, service_name: Target, address: 'tcp://ServerB:4022'}]
            %s
      ServerB:
        databases:
          DatabaseB:
            services: [Target]
            routes: [{name: R, service_name: Initiator, address: 'tcp://ServerA:4022'}]
            %s
"""


@pytest.mark.parametrize(
    ("encryption", "here", "there", "expected"),
    [
        ("", "", "", []),
        (", encryption: off", "", "", []),
        (", encryption: on", "", "", [9727]),
        ("", YAML_BINDING, "", []),
        ("", "", "grants: [{service: Target, to: public, denied: on}]", [11215]),
        (", encryption: off", "", "grants: [{service: Target, to: u}]", [11215]),
        ("", f"{YAML_BINDING}\n            certificates: {{C: {{user: V}}}}", "", [9731]),
    ],
)  # fmt: skip
def test_a_topology_that_does_not_mention_security_has_no_findings(
    tmp_path: Path, encryption: str, here: str, there: str, expected: list[int]
) -> None:
    topology = load(write(tmp_path, SILENT % (encryption, here, there)), NOW)
    assert errors(topology) == expected


def test_the_security_of_a_flow_is_reported(tmp_path: Path) -> None:
    survey = survey_flows(estate(tmp_path, "", ANONYMOUS + BOUND, PUBLIC), NOW)
    [flow] = survey.to_json()["flows"]
    assert flow["security"] == [
        {"target": "ServerB/DatabaseB", "encryption": True, "mode": "anonymous", "binding": "B",
         "obstacles": []}
    ]  # fmt: skip
    text = "security: anonymous, by remote service binding B (user T), so public needs SEND"
    assert text in survey_text(survey)


def test_an_obstacle_is_reported_at_its_statement(tmp_path: Path) -> None:
    [answer] = survey_flows(estate(tmp_path), NOW).answers
    [found] = answer.hazards
    assert (found.code, found.subject, found.line) == ("TA-48", "ServerA/DatabaseA", 13)
    assert found.evidence == {"error": 9727, "flows": ["ServerA/DatabaseA/Initiator -> Target"]}
    assert found.message.endswith("(9727)")


def test_a_target_that_is_not_in_the_topology_is_remote_if_a_route_leads_out(
    tmp_path: Path,
) -> None:
    """Its permissions are unknown, but every encrypted dialog with it needs a binding."""
    initiator = INITIATOR.format(owner="", security="", encryption="")
    for script, expected in (
        (initiator, [9727]),
        (initiator.replace("TCP://ServerB:4022", "LOCAL"), []),
    ):
        [answer] = survey_flows(load(write(tmp_path, ServerA=script), NOW), NOW).answers
        errors_ = [int(one.error) for judged in answer.security for one in judged.obstacles]
        assert errors_ == expected and answer.verdict is PathVerdict.BROKEN
