"""`forebay conformance`: run case files against the stores and operators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from conformance.cases import FileResult
from conformance.described import run_described
from conformance.runner import run_directory
from forebay.testing.bench import Backend

_SPARK = "spark"
_DSL = "dsl"


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--backend",
    type=click.Choice([*(backend.value for backend in Backend), _DSL, _SPARK]),
    default=Backend.IN_MEMORY.value,
    help="Where the cases' stores are kept; spark: in a Spark query's state (takes about a minute); dsl: the cases of "
    "topologies alone, described in the DSL and run by the engine.",
)
@click.option(
    "--tasks",
    type=click.IntRange(1),
    default=1,
    help="With dsl: how many tasks keys are spread over, repartitions between them. Cases whose keys are to share a "
    "stream time need one, and are omitted with more.",
)
def conformance(directory: Path, backend: str, tasks: int) -> int:
    """Run every case file of DIRECTORY; exit code 1 if any case fails.

    Each step or record of a case is a separate commit to the backend's table. Nothing remains in memory between two
    steps. With spark, all cases run in one query, and each case is a state task that loads its snapshot at the start
    of each micro-batch. Consecutive writes to a store share a micro-batch. A case that contains something unknown
    fails.
    """
    try:
        results = [_report(result, directory) for result in _results(directory, backend, tasks)]
    except FileNotFoundError as error:
        raise click.ClickException(str(error)) from error
    failed = sum(result.failed for result in results)
    click.echo(f"{sum(result.passed for result in results)} passed, {failed} failed")
    return int(failed > 0)


def _results(directory: Path, backend: str, tasks: int) -> Iterator[FileResult]:
    if backend == _DSL:
        return run_described(directory, tasks)
    if tasks > 1:
        raise click.UsageError(f"--tasks spreads topologies over tasks: give --backend {_DSL} with it")
    if backend != _SPARK:
        return run_directory(directory, Backend(backend))
    from conformance.spark import run_on_spark  # noqa: PLC0415 (starts with pyspark: half a second)

    return run_on_spark(directory, _tell)


def _tell(batch: int, batches: int) -> None:
    if batch % 10 == 1 or batch == batches:
        click.echo(f"micro-batch {batch} of {batches}", err=True)


def _report(result: FileResult, directory: Path) -> FileResult:
    click.echo(f"{result.file.relative_to(directory)}: {result.passed} passed, {result.failed} failed")
    for case_result in result.results:
        if case_result.passed:
            continue
        click.echo(f"  FAILED {case_result.case}")
        if case_result.problem:
            click.echo(f"    {case_result.problem}")
        for difference in case_result.differences:
            click.echo(f"    {difference}")
    return result
