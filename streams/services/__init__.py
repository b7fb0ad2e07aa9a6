"""Services that come with Hopline, as state machines: messages in, statements out.

The state machines have no client and no clock. The caller stores the rows and performs the actions,
in one transaction with the message.
"""

from streams.services.classifiers import make_classifier, to_service_name
from streams.services.data_dependent import (
    Action,
    Begin,
    Classifier,
    End,
    Handle,
    Incoming,
    Redirector,
    Router,
    Send,
    Turn,
)
from streams.services.notice import NoticeAnswer, answer, purge

__all__ = [
    "Action",
    "Begin",
    "Classifier",
    "End",
    "Handle",
    "Incoming",
    "NoticeAnswer",
    "Redirector",
    "Router",
    "Send",
    "Turn",
    "answer",
    "make_classifier",
    "purge",
    "to_service_name",
]
