"""Logging of a job: text for people, JSON for collectors."""

from __future__ import annotations

import json
import logging
import sys
import time

from forebay.runtime.process.log_files import log_file_handler

FORMATS = ("text", "json")


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time (UTC), level, logger, message, and the record's `facts` if it has any."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False, default=str)


def configure_logging(log_format: str, level: int = logging.INFO) -> None:
    """Send the library's log to stderr in `log_format`. Later calls change nothing."""
    root = logging.getLogger("forebay")
    if root.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
    handler.setFormatter(JsonFormatter() if log_format == "json" else text)
    root.addHandler(handler)
    file_handler = log_file_handler()
    if file_handler is not None:
        file_handler.setFormatter(handler.formatter)
        root.addHandler(file_handler)
    root.setLevel(level)
    root.propagate = False
