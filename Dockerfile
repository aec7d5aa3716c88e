# The distribution and the Python that the tests run on.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY . .
# Only files whose hashes are in the lock are installed, to build with and to run.
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements.build.lock \
 && /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && python -m venv /opt/mergebot \
 && /opt/mergebot/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
 && /opt/mergebot/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl

FROM python:3.11-slim-bookworm
# Debian's stable packages, unpinned: their fixes are wanted, their versions do not move otherwise.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates git \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --user-group --no-log-init --home-dir /var/lib/mergebot --create-home mergebot
COPY --from=build /opt/mergebot /opt/mergebot

# Nothing outside MERGEBOT_HOME and /tmp is written, so the root may be mounted read-only.
ENV PATH=/opt/mergebot/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    MERGEBOT_HOME=/var/lib/mergebot \
    MERGEBOT_HOST=0.0.0.0 \
    MERGEBOT_PORT=8420
USER 10001:10001
WORKDIR /var/lib/mergebot
VOLUME /var/lib/mergebot
EXPOSE 8420
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ['MERGEBOT_PORT']}/healthz\", timeout=4)"]
ENTRYPOINT ["mergebot"]
CMD ["up"]
