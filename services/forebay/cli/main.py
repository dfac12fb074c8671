"""The `forebay` command group, and the output of its errors."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

import forebay
from forebay.cli.errors import in_a_line, lines_of, show
from forebay.cli.lazy import LazyCommand, LazyGroup
from forebay.cli.usage import explain
from forebay.service.plugins import VARIABLE, bring_project
from forebay.utils.private import private_files

COMMANDS = {
    "demo": LazyCommand("forebay.cli.demo:demo", "Run platform, producers and jobs, with a live view."),
    "up": LazyCommand("forebay.cli.up:up", "Start the embedded Kafka broker and schema registry."),
    "down": LazyCommand(
        "forebay.cli.down:down", "Stop the embedded broker and registry; keep their data unless --delete-data is used."
    ),
    "status": LazyCommand("forebay.cli.status:status", "Show the platform's processes and the jobs' states."),
    "services": LazyCommand("forebay.cli.services:services", "List services, or show a service's topics and settings."),
    "new": LazyCommand("forebay.cli.new:new", "Create a new service, ready to run."),
    "check": LazyCommand("forebay.cli.check:check", "Check services with sample records, without Spark and Kafka."),
    "topology": LazyCommand("forebay.cli.topology:topology", "Print a service's sub-topologies, stores and topics."),
    "views": LazyCommand("forebay.cli.views:views", "Check or write the contracts of a service of SQL views."),
    "ksml": LazyCommand("forebay.cli.ksml:ksml", "Check, run and test KSML definitions; run their producers."),
    "sql": LazyCommand("forebay.cli.sql:sql", "Run and query SQL of ksqlDB's dialect: files, statements, a shell."),
    "topics": LazyCommand("forebay.cli.topics:topics", "Create and describe the services' topics."),
    "acl": LazyCommand("forebay.cli.acl:acl", "Print or grant the rights on the broker that a service needs."),
    "produce": LazyCommand("forebay.cli.produce:produce", "Write synthetic events to a topic."),
    "send": LazyCommand("forebay.cli.send:send", "Write one record to a topic, in the format of its service."),
    "insert": LazyCommand("forebay.cli.insert:insert", "Insert one row into a stream or table of SQL."),
    "run": LazyCommand("forebay.cli.run:run", "Run the jobs of one or more services."),
    "backfill": LazyCommand("forebay.cli.backfill:backfill", "Process a job's history as a Spark batch."),
    "executor": LazyCommand("forebay.cli.executor:executor", "Run tasks for a job's driver, on Kubernetes."),
    "serve": LazyCommand("forebay.cli.serve:serve", "Run a broker or registry in a container."),
    "wait": LazyCommand("forebay.cli.wait:wait", "Wait until the broker and the registry answer."),
    "logs": LazyCommand("forebay.cli.logs:logs", "Print the last lines of a job's log; -f follows it."),
    "profile": LazyCommand("forebay.cli.profile:profile", "Write a flame graph of a running job's worker."),
    "tail": LazyCommand("forebay.cli.tail:tail", "Print a topic's committed records, decoded."),
    "queries": LazyCommand("forebay.cli.queries:queries", "Serve a job's stores: pull and push queries over HTTP."),
    "console": LazyCommand("forebay.cli.console:console", "Show jobs, stores, errors and topics in a browser."),
    "errors": LazyCommand("forebay.cli.error_records:errors", "Send failed records back to their input topics."),
    "rescale": LazyCommand("forebay.cli.rescale:rescale", "Change a job's number of state tasks."),
    "restore": LazyCommand("forebay.cli.restore:restore", "Rebuild a lost checkpoint from the changelogs."),
    "standby": LazyCommand("forebay.cli.standby:standby", "Keep warm copies of a job's state."),
    "store": LazyCommand("forebay.cli.store:store", "Convert stores whose declaration changed."),
    "reset": LazyCommand("forebay.cli.reset:reset", "Delete a job's state, so that it starts over (asks first)."),
    "help": LazyCommand("forebay.cli.help:show_help", "Show the help of a command."),
    "version": LazyCommand("forebay.cli.help:version", "Print Forebay's version."),
}
if (Path(__file__).parents[3] / "conformance" / "command.py").is_file():  # in a checkout: the wheel has no case runner
    COMMANDS["conformance"] = LazyCommand(
        "conformance.command:conformance", "Run case files against stores and operators."
    )

_FOR_OTHERS = frozenset({"new", "views"})
"""Commands that write into a source tree. Only their user can read the files that all other commands write."""

_EPILOG = """\b
Try it:
  forebay demo                               run one service with all it needs, until Ctrl-C
  forebay demo --all                         run all services at once

\b
Step by step:
  forebay up                                 start the platform (first time: downloads it)
  forebay topics create user-sessions        create the service's topics
  forebay run user-sessions                  start the job
  forebay produce user_activity --rate 1000  send events to it, from another terminal
  forebay tail user_session_stats            print its results
  forebay down                               stop the platform, keep its data

Every option can also be set by the environment variable that the command's --help shows.
Exit codes: 0 success, 1 failure, 2 wrong usage, 3 `status` reports that a part of the platform is down."""


def _bring(_context: click.Context, _parameter: click.Parameter, modules: str | None) -> str | None:
    """Set the variable in which this process and its child processes look for modules of services."""
    if modules is not None:
        os.environ[VARIABLE] = modules
    return modules


@click.group(
    cls=LazyGroup,
    lazy_commands=COMMANDS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(forebay.__version__, "--version", prog_name="forebay")
@click.option("--debug", is_flag=True, show_envvar=True, help="Show Python tracebacks of errors.")
@click.option(
    "--services",
    metavar="MODULE[,MODULE]...",
    show_envvar=True,
    callback=_bring,
    help="Modules that define a SERVICE, in addition to those of installed packages (docs/new-service.md).",
)
@click.pass_context
def cli(context: click.Context, debug: bool, services: str | None) -> None:
    """State stores for Kafka streams, in Python, on Spark.

    The platform (a real Kafka broker and a schema registry) runs as two child processes on this machine,
    with its data in .forebay/. Services are jobs that read topics, keep state and write topics, exactly once.
    """
    bring_project(Path.cwd())
    if context.invoked_subcommand not in _FOR_OTHERS:
        context.with_resource(private_files())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code. Errors go to stderr, one line per problem."""
    debug = "--debug" in arguments or os.environ.get("FOREBAY_DEBUG", "") not in ("", "0", "false")
    try:
        result = cli.main(arguments, prog_name="forebay", standalone_mode=False, auto_envvar_prefix="FOREBAY")
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:  # a group without a command: its message is its help
        error.show()
        return error.exit_code
    except click.UsageError as error:
        _report([explain(error)], "", debug)
        return error.exit_code
    except click.ClickException as error:
        _report([error.format_message()], "", debug)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__context__, EOFError):
            _report(["there is no terminal to confirm on: pass --yes"], "", debug)
            return 2
        _report(["interrupted"], "", debug)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:  # the last line of defence: no traceback for users
        _report(lines_of(error), getattr(error, "log_tail", ""), debug)
        return 1


def _report(lines: list[str], details: str, debug: bool) -> None:
    console = Console(stderr=True)
    if details:
        console.print(details, style="dim", markup=False, highlight=False, soft_wrap=True)
    if debug:
        console.print(traceback.format_exc(), markup=False, highlight=False, soft_wrap=True)
    show(console, [in_a_line(line) for line in lines])


if __name__ == "__main__":
    main()
