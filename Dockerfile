# Two images from one build (docs/containers.md):
#   docker build --target worker -t hopline/worker .   workers, agents, every command but three; no Java
#   docker build --target spark  -t hopline/spark .    the same and Java 17: monitor, dashboard, verify
# Packages and jars are those of requirements/lock.txt and streams/embedded/spark.lock, by their SHA-256.
# Name the base image with a digest to fix it, too (docs/supply_chain.md).
ARG HOPLINE_PYTHON_IMAGE=python:3.11-slim-bookworm

# --- the wheel: what is installed of this tree ----------------------------------------------------
FROM ${HOPLINE_PYTHON_IMAGE} AS wheel
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements/lock.txt requirements/wanted.py requirements/
COPY pyproject.toml setup.py MANIFEST.in README.md CHANGELOG.md LICENSE ./
COPY schemas schemas
COPY topologies topologies
COPY streams streams
# Without build isolation, because pip would fetch what that needs without its hash.
RUN python requirements/wanted.py build-system >/tmp/locked.txt \
 && pip --quiet --no-cache-dir install --require-hashes --requirement /tmp/locked.txt \
 && pip wheel --quiet --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheel .

# --- who runs, how it starts, and what workers need -----------------------------------------------
FROM ${HOPLINE_PYTHON_IMAGE} AS base
# tini is PID 1: it passes signals on and buries orphans.
# Debian's packages have no version here: its repository has only the newest of a release, so that a
# pinned version breaks the build at the next security fix. The base image's digest and the list of
# packages of a finished image (docs/supply_chain.md) say what was in it.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*.log /var/log/apt \
 && groupadd --gid 10001 hopline \
 && useradd --uid 10001 --gid hopline --home-dir /var/lib/hopline --no-create-home hopline \
 && install --directory --owner hopline --group hopline /var/lib/hopline \
 && python -m venv --without-pip /opt/hopline
ENV PATH=/opt/hopline/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /src
# What does not change with every line of code is a layer of its own.
COPY pyproject.toml requirements/
COPY requirements/lock.txt requirements/wanted.py requirements/
RUN --mount=type=cache,target=/var/cache/pip \
    python requirements/wanted.py run postgres >/tmp/locked.txt \
 && pip --quiet --cache-dir /var/cache/pip --disable-pip-version-check \
      --python /opt/hopline/bin/python install --require-hashes --requirement /tmp/locked.txt \
 && rm /tmp/locked.txt
ENTRYPOINT ["tini", "--", "start-hopline"]
CMD ["--help"]
# Without a JVM, and without Python: PORT/PATH must answer.
ENV HEALTH_CHECK=9187/readyz HOPLINE_WORKER_HTTP=0.0.0.0:9187
HEALTHCHECK --interval=5s --timeout=10s --start-period=120s --retries=6 CMD ["is-healthy"]
LABEL org.opencontainers.image.title="Hopline" \
      org.opencontainers.image.description="Service Broker's dialogs and routes on Kafka" \
      org.opencontainers.image.licenses="MIT"

# --- Spark: Java, pyspark, the dashboard's libraries ----------------------------------------------
FROM base AS spark-base
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*.log /var/log/apt
# pyspark is published as source only; setuptools builds it, and then goes.
RUN --mount=type=cache,target=/var/cache/pip \
    python requirements/wanted.py build-system >/tmp/build-system.txt \
 && python requirements/wanted.py monitor >/tmp/locked.txt \
 && export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_PYTHON=/opt/hopline/bin/python PIP_CACHE_DIR=/var/cache/pip \
 && pip --quiet install --require-hashes --requirement /tmp/build-system.txt \
 && pip --quiet install --require-hashes --no-build-isolation --requirement /tmp/locked.txt \
 && pip --quiet uninstall --yes setuptools \
 && rm /tmp/build-system.txt /tmp/locked.txt

# --- Spark's connectors, by their locked SHA-256 --------------------------------------------------
FROM base AS jars
ARG HOPLINE_MAVEN
RUN --mount=from=wheel,source=/wheel,target=/wheel \
    pip --quiet --disable-pip-version-check --python /opt/hopline/bin/python install --no-deps /wheel/*.whl
# Only these: the cache of builds keeps those of earlier versions.
RUN --mount=type=cache,target=/var/cache/hopline \
    HOPLINE_CACHE=/var/cache/hopline python -c \
      'from streams.embedded import spark_jars; print(*spark_jars(), sep="\n")' >/tmp/jars.txt \
 && cd /var/cache/hopline && sed -i "s,^$PWD/,," /tmp/jars.txt \
 && mkdir /jars && xargs cp --parents --target-directory=/jars </tmp/jars.txt

# --- the images -----------------------------------------------------------------------------------
FROM base AS worker
# What has installed is not needed any more.
RUN --mount=from=wheel,source=/wheel,target=/wheel \
    pip --quiet --disable-pip-version-check --python /opt/hopline/bin/python install --no-deps /wheel/*.whl \
 && /usr/local/bin/python -m pip --quiet uninstall --yes --root-user-action=ignore setuptools wheel pip \
 && rm -rf /src /tmp/*
COPY THIRD_PARTY_NOTICES.md LICENSE /usr/share/doc/hopline/
COPY --chmod=755 deploy/containers/bin /usr/local/bin
WORKDIR /var/lib/hopline
USER hopline

FROM spark-base AS spark
RUN --mount=from=wheel,source=/wheel,target=/wheel \
    pip --quiet --disable-pip-version-check --python /opt/hopline/bin/python install --no-deps /wheel/*.whl \
 && /usr/local/bin/python -m pip --quiet uninstall --yes --root-user-action=ignore setuptools wheel pip \
 && rm -rf /src /tmp/*
COPY --from=jars /jars /opt/hopline/cache
ENV HOPLINE_CACHE=/opt/hopline/cache
COPY THIRD_PARTY_NOTICES.md LICENSE /usr/share/doc/hopline/
COPY --chmod=755 deploy/containers/bin /usr/local/bin
WORKDIR /var/lib/hopline
USER hopline
