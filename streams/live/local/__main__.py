"""``python -m streams.live.local FOLDER BOOTSTRAP PREFIX TOPOLOGY AGENT ...``: the supervisor.

`up` starts the supervisor; TOPOLOGY is the folder with the agents.
"""

from __future__ import annotations

import sys
from pathlib import Path

from streams.live.local.folder import UpFolder
from streams.live.local.jobs import jobs_of
from streams.live.local.supervisor import keep

if __name__ == "__main__":
    folder, bootstrap, prefix, topology, *agents = sys.argv[1:]
    keep(UpFolder(Path(folder)), jobs_of(bootstrap, prefix, topology, agents))
