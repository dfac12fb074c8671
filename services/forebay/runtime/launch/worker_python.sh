#!/bin/sh
# Starts Python for Spark, which puts what it ships (pyspark.zip, a jar) first on PYTHONPATH. Python would compile that zip's
# sources anew in each of the six processes a job starts, half a second and more each; the installed pyspark is the same.
set -f
kept=
IFS=:
for entry in $PYTHONPATH; do
    case $entry in
        "${SPARK_HOME:-/nowhere}"/*) ;;
        *) kept=$kept${kept:+:}$entry ;;
    esac
done
unset IFS
if [ -S "$FOREBAY_FORK_SERVER" ] && [ "$1" = -m ]; then
    set -- -I -S "${0%/*}/fork_client.py" "$@"
fi
PYTHONPATH=$kept exec "${FOREBAY_PYTHON:-python3}" "$@"
