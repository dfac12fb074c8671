# Two images from one file. BuildKit is required (the default since docker 23; before, set DOCKER_BUILDKIT=1).
#   docker build --target forebay  -t forebay:dev .            jobs' drivers and executors, producers, all commands
#   docker build --target platform -t forebay-platform:dev .   broker and schema registry for development
# A tag can be moved, a digest can't. `make pin-base` writes the current digest here; --build-arg BASE=... sets another base.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS base
ARG BASE
LABEL org.opencontainers.image.base.name=${BASE}
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked \
    rm -f /etc/apt/apt.conf.d/docker-clean \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends ca-certificates libnss-wrapper libstdc++6 python3 >/dev/null \
 && groupadd --gid 10001 forebay \
 && useradd --uid 10001 --gid 10001 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin forebay
COPY docker/entrypoint /usr/local/bin/entrypoint
ENV JAVA_HOME=/opt/java PATH=/opt/forebay/bin:/opt/java/bin:$PATH PYTHONUNBUFFERED=1

# A Java 17 with only the modules that Spark, Kafka and the registry load.
FROM ${BASE} AS java
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked \
    rm -f /etc/apt/apt.conf.d/docker-clean \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends binutils openjdk-17-jdk-headless >/dev/null
COPY docker/java-modules.txt /
RUN jlink --add-modules "$(grep -v '^#' /java-modules.txt | paste -sd,)" --strip-debug --no-header-files --no-man-pages \
    --compress=2 --include-locales=en \
    --exclude-files '/java.desktop/lib/**.so' --output /opt/java \
 && strip --strip-unneeded /opt/java/lib/server/libjvm.so

FROM base AS tools
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked \
    apt-get update -qq && apt-get install -y -qq --no-install-recommends binutils python3-venv zip >/dev/null
RUN --mount=type=cache,target=/root/.cache/pip \
    python3 -m venv /opt/tools && /opt/tools/bin/pip install -q uv==0.13.8
COPY pyproject.toml uv.lock /src/
COPY services/pyproject.toml /src/services/
WORKDIR /src

# The Python packages of each image, from the lock. The images' stages add their jars and Debian packages.
FROM tools AS sbom
RUN --mount=type=cache,target=/root/.cache/pip \
    set -- --frozen --no-dev --no-emit-workspace --preview-features sbom-export --format cyclonedx1.5 \
 && /opt/tools/bin/uv export -q --package forebay-services "$@" -o /forebay.json \
 && /opt/tools/bin/uv export -q --extra platform "$@" --prune pyspark --prune pyarrow --prune protobuf -o /platform.json

# The exact versions and hashes of the lock.
FROM tools AS dependencies
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/tools/bin/uv export -q --frozen --no-dev --package forebay-services --no-emit-workspace --no-header --no-annotate \
      -o /requirements.txt \
 && python3 -m venv /opt/forebay \
 && /opt/forebay/bin/pip install -q --no-deps --use-pep517 --require-hashes -r /requirements.txt
COPY docker/slim docker/slim_kubernetes.py /usr/local/bin/
RUN slim /opt/forebay /object-store

# Jars for checkpoints in an object store: --build-arg JARS=org.apache.hadoop:hadoop-aws:3.5.0
FROM dependencies AS jars
ARG JARS=""
COPY docker/fetch_jars.py /
RUN --mount=type=cache,target=/root/.m2 /opt/forebay/bin/python /fetch_jars.py /extra/pyspark/jars ${JARS} \
 && if [ -n "${JARS}" ]; then cp -r /object-store /extra/pyarrow; fi

# A streaming query proves that the remaining parts of Spark suffice. With --build-arg CLASSES=yes, this stage also writes
# archives of Java's and Spark's classes (174 MB), which save 3 s of CPU at the start of a driver or executor.
FROM base AS archive
ARG CLASSES=no
COPY --from=java /opt/java /opt/java
COPY --from=dependencies /opt/forebay /opt/forebay
COPY --from=jars /extra /opt/forebay/lib/python3.11/site-packages
COPY services/forebay /site/forebay
COPY avro/forebay /site/forebay/contracts/forebay
RUN --mount=type=tmpfs,target=/tmp mkdir -p /opt/forebay/share/forebay \
 && if [ "${CLASSES}" = yes ]; then java -Xshare:dump -XX:+UseSerialGC >/dev/null; check=; else check=--check; fi \
 && PYTHONPATH=/site python -m forebay.runtime.driver.class_archive $check

FROM tools AS wheel
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked \
    apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev python3-dev >/dev/null
COPY . /src/
ENV FOREBAY_NATIVE=required
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/tools/bin/pip wheel -q --no-deps -w /wheel . ./services && mkdir /site && /opt/tools/bin/pip install -q --no-deps --target /site /wheel/*.whl

# The few dependencies of the platform, without Spark.
FROM tools AS platform-dependencies
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/tools/bin/uv export -q --frozen --no-dev --extra platform --no-emit-workspace --no-header --no-annotate \
      --prune pyspark --prune pyarrow --prune protobuf -o /requirements.txt \
 && python3 -m venv /opt/forebay \
 && /opt/forebay/bin/pip install -q --no-deps --require-hashes -r /requirements.txt
COPY docker/slim docker/slim_kubernetes.py /usr/local/bin/
RUN slim /opt/forebay

FROM platform-dependencies AS artifacts
COPY --from=java /opt/java /opt/java
COPY --from=wheel /site /site
ENV PYTHONPATH=/site M2_REPO=/opt/platform/m2 XDG_CACHE_HOME=/opt/platform/cache
RUN /opt/forebay/bin/python -m forebay.platform.fetch \
 && find /opt/platform/m2 -name '*.tar.gz' -delete \
 && chmod -R a+rX /opt/platform

FROM base AS platform
COPY --from=java /opt/java /opt/java
COPY --from=artifacts /opt/platform /opt/platform
COPY --from=platform-dependencies /opt/forebay /opt/forebay
COPY --from=wheel /wheel /tmp/wheel
RUN --mount=from=tools,source=/opt/tools,target=/opt/tools \
    /opt/tools/bin/pip --python /opt/forebay/bin/python install -q --no-deps --no-index /tmp/wheel/*.whl && rm -rf /tmp/wheel
RUN --mount=from=sbom,source=/platform.json,target=/tmp/python.json --mount=source=docker/sbom.py,target=/tmp/sbom.py \
    /opt/forebay/bin/python /tmp/sbom.py /tmp/python.json /usr/share/sbom/image.cdx.json /opt/platform
ENV M2_REPO=/opt/platform/m2 XDG_CACHE_HOME=/opt/platform/cache
USER 10001:10001
ENTRYPOINT ["entrypoint"]
CMD ["--help"]

FROM base AS forebay
COPY --from=archive /opt/java /opt/java
COPY --from=dependencies /opt/forebay /opt/forebay
COPY --from=jars /extra /opt/forebay/lib/python3.11/site-packages
COPY --from=archive /opt/forebay/share /opt/forebay/share
# The layers that change with each release are small and come last.
RUN --mount=from=tools,source=/opt/tools,target=/opt/tools --mount=from=wheel,source=/wheel,target=/tmp/wheel \
    /opt/tools/bin/pip --python /opt/forebay/bin/python install -q --no-deps --no-index /tmp/wheel/*.whl
RUN --mount=from=sbom,source=/forebay.json,target=/tmp/python.json --mount=source=docker/sbom.py,target=/tmp/sbom.py \
    /opt/forebay/bin/python /tmp/sbom.py /tmp/python.json /usr/share/sbom/image.cdx.json /opt/forebay
USER 10001:10001
ENTRYPOINT ["entrypoint"]
CMD ["--help"]
