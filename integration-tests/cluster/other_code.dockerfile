# Another release, in which a record of what drivers send their workers has another name.
ARG IMAGE
FROM ${IMAGE}
USER 0
RUN cd /opt/forebay/lib/python3.*/site-packages/forebay && \
    grep -q "class StartFrom" runtime/spec.py && \
    grep -rl StartFrom --include=*.py . | xargs sed -i s/StartFrom/BeginFrom/g && \
    sed -i 's/^__version__ = .*/__version__ = "9.9.9"/' __init__.py && \
    python -m compileall -q .
USER 10001:10001
