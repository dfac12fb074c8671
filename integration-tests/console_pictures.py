"""Pictures of a running console's pages, for docs/console.md.

forebay demo order-stores, then python integration-tests/console_pictures.py http://127.0.0.1:7080 order-stores
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from browser import NARROW, WIDE, Browser

FOLDER = Path(__file__).parents[1] / "docs" / "console"
MOST_BYTES = 100_000


def pages(job: str, sql: str) -> list[tuple[str, str, str, int]]:
    """Return each picture's name, page, the sign that it is complete, and its height in pixels."""
    return [
        ("jobs", "#/", ".plot path.line", 860),
        ("job", f"#/job/{job}", ".topology .rate:not(.still)", 1000),
        ("stores", f"#/stores/{job}", "td.value .field", 720),
        ("errors", f"#/errors/{job}", "td.value", 900),
        ("topics", f"#/topics/{job}", "td.value .field", 640),
        *([("sql", f"#/sql/{sql}", "textarea", 640)] if sql else []),
    ]


def main(url: str, job: str, sql: str = "", statement: str = "") -> None:
    """Write the pictures, and print the size of each."""
    FOLDER.mkdir(exist_ok=True)
    for size, dark, ending in ((WIDE, False, ""), (NARROW, True, "-phone")):
        browser = Browser(url.rstrip("/"), dark)
        try:
            for name, page, ready, height in pages(job, sql):
                if ending and name not in ("jobs", "job"):
                    continue
                browser.size(*size)
                browser.open(page)
                browser.until(partial(browser.texts, ready), f"{page} is complete", 120)
                if name == "sql":
                    browser.all("textarea")[0].send_keys(statement)
                    browser.click("button.primary")
                    browser.until(partial(browser.all, "tbody tr:nth-child(7)"), "rows", 120)
                data = browser.picture(NARROW[1] if ending else height)
                (FOLDER / f"{name}{ending}.webp").write_bytes(data)
                print(f"{name}{ending}.webp: {len(data):,} bytes")
                assert len(data) <= MOST_BYTES, f"{name} weighs more than {MOST_BYTES:,} bytes"
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
