"""Health and metrics of several jobs at one port: /readyz of all, /<application>/readyz of one, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from forebay.http.health import NO_PAGE, Health, Verdict, health_page, verdict_answer
from forebay.http.messages import Answer, Request
from forebay.http.server import HttpServer

Job = tuple[Health, CollectorRegistry]


def joint(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict for all jobs: positive, or the reasons of the jobs with a negative one."""
    against = [f"{name}: {verdict.reason}" for name, verdict in verdicts.items() if not verdict.ok]
    return Verdict(not against, "; ".join(against) or f"all of {', '.join(verdicts)}")


def several_page(request: Request, jobs: Mapping[str, Job]) -> Answer | None:
    """Answer the pages of all jobs and of single jobs; None if the request is for none of them."""
    match request.path:
        case (name, page) if name in jobs:
            return health_page(replace(request, path=(page,)), *jobs[name])
        case ("metrics",):
            merged = CollectorRegistry()
            merged.register(_Merged([registry for _, registry in jobs.values()]))
            return Answer(200, CONTENT_TYPE_LATEST, generate_latest(merged))
        case ("healthz",):
            return verdict_answer(joint({name: health.alive() for name, (health, _) in jobs.items()}))
        case ("readyz",):
            return verdict_answer(joint({name: health.ready() for name, (health, _) in jobs.items()}))
        case _:
            return None


def several_server(jobs: Mapping[str, Job], host: str, port: int) -> HttpServer:
    """Serve health and metrics of jobs, by application id. Raises PortInUse."""
    return HttpServer(lambda request: several_page(request, jobs) or NO_PAGE, host, port)


class _Merged(Collector):
    """The metrics of several registries: each family once, with the samples of all."""

    def __init__(self, registries: Sequence[CollectorRegistry]) -> None:
        self._registries = registries

    def describe(self) -> Iterable[Metric]:
        """Return nothing, because no other collector is registered that this one could collide with."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Return the families."""
        families: dict[str, Metric] = {}
        for registry in self._registries:
            for family in registry.collect():
                first = families.setdefault(family.name, family)
                if first is not family:
                    first.samples.extend(family.samples)
        yield from families.values()
