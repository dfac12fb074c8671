# An S3 server made for tests: everything in memory, no checks of who asks.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked \
    rm -f /etc/apt/apt.conf.d/docker-clean \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
RUN --mount=type=cache,target=/root/.cache/pip \
    python3 -m venv /opt/s3 \
 && /opt/s3/bin/pip install -q 'moto[s3]==5.2.5' boto3==1.44.5 flask==3.1.3 flask-cors==6.0.5
ENV PATH=/opt/s3/bin:$PATH PYTHONUNBUFFERED=1
USER 10001:10001
ENTRYPOINT ["moto_server", "--host", "0.0.0.0", "--port", "9000"]
