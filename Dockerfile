# Two images from one build (docs/containers.md):
#   docker build --target worker -t hopline/worker .   workers, agents, every command but three; no Java
#   docker build --target spark  -t hopline/spark .    the same and Java 17: monitor, dashboard, verify
# Versions are those of requirements/lock.txt and streams/embedded/spark.lock, and no others.

# --- the wheel: what is installed of this tree ----------------------------------------------------
FROM python:3.11-slim-bookworm AS wheel
WORKDIR /src
# Also for what pip builds in an environment of its own.
ENV PIP_CONSTRAINT=/src/requirements/lock.txt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements/lock.txt requirements/
COPY pyproject.toml setup.py MANIFEST.in README.md CHANGELOG.md LICENSE ./
COPY schemas schemas
COPY topologies topologies
COPY streams streams
RUN pip wheel --quiet --no-cache-dir --no-deps --wheel-dir /wheel .

# --- who runs, how it starts, and what workers need -----------------------------------------------
FROM python:3.11-slim-bookworm AS base
# tini is PID 1: it passes signals on and buries orphans.
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
    python requirements/wanted.py run postgres >/tmp/wanted.txt \
 && PIP_CONSTRAINT=/src/requirements/lock.txt pip --quiet --cache-dir /var/cache/pip \
      --disable-pip-version-check --python /opt/hopline/bin/python install --requirement /tmp/wanted.txt \
 && rm /tmp/wanted.txt
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
RUN --mount=type=cache,target=/var/cache/pip \
    python requirements/wanted.py monitor >/tmp/wanted.txt \
 && PIP_CONSTRAINT=/src/requirements/lock.txt pip --quiet --cache-dir /var/cache/pip \
      --disable-pip-version-check --python /opt/hopline/bin/python install --requirement /tmp/wanted.txt \
 && rm /tmp/wanted.txt

# --- Spark's connectors, by their locked SHA-256 --------------------------------------------------
FROM base AS jars
ARG HOPLINE_MAVEN
RUN --mount=from=wheel,source=/wheel,target=/wheel \
    pip --quiet --disable-pip-version-check --python /opt/hopline/bin/python install --no-deps /wheel/*.whl
RUN --mount=type=cache,target=/var/cache/hopline \
    HOPLINE_CACHE=/var/cache/hopline python -c 'from streams.embedded import spark_jars; spark_jars()' \
 && mkdir /jars && cp -r /var/cache/hopline/spark-* /jars

# --- the images -----------------------------------------------------------------------------------
FROM base AS worker
# What has installed is not needed any more.
RUN --mount=from=wheel,source=/wheel,target=/wheel \
    pip --quiet --disable-pip-version-check --python /opt/hopline/bin/python install --no-deps /wheel/*.whl \
 && /usr/local/bin/python -m pip --quiet uninstall --yes --root-user-action=ignore setuptools wheel pip \
 && rm -rf /src /tmp/*
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
COPY --chmod=755 deploy/containers/bin /usr/local/bin
WORKDIR /var/lib/hopline
USER hopline
