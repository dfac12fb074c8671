"""Clicks of a site's visitors, who leave for a while and return (topic user_clicks)."""

from __future__ import annotations

import hashlib
import heapq
from random import Random

from forebay.producing.base import FIXED_START_MS, Event, Options, Source
from producers.draws import MASK, lognormal, weighted_table
from session_analytics.model import DeviceInfo, Interaction, PageMetadata, SessionInfo, UserClick

GAP_MS = 30_000
"""Maximum time between two clicks of a visit, in ms. A visitor who left stays away for longer."""

_NO_GAP, _GAP = SessionInfo(False), SessionInfo(True)

_HOME = PageMetadata("home", False, False)
_CATALOG = PageMetadata("catalog", False, False)
_PRODUCT = PageMetadata("product", False, False)
_SEARCH = PageMetadata("search", False, False)
_SUPPORT = PageMetadata("support", False, False)
_CONTENT = PageMetadata("content", False, False)
_ACCOUNT = PageMetadata("account", True, False)
_CART = PageMetadata("cart", False, False)
_PAYMENT = PageMetadata("checkout", True, False)
_CONVERSION = PageMetadata("checkout", True, True)
_SIGNED_UP = PageMetadata("account", False, True)

_LINK, _BUTTON, _MENU, _RESULT, _IMAGE = map(Interaction, ("link", "button", "menu", "search_result", "image"))

_PAGES = weighted_table(
    [
        (("/home", _HOME, _MENU), 9.0),
        (("/products", _CATALOG, _MENU), 10.0),
        (("/offers", _CATALOG, _LINK), 6.0),
        (("/search", _SEARCH, _BUTTON), 9.0),
        (("/blog", _CONTENT, _LINK), 3.0),
        (("/help", _SUPPORT, _MENU), 2.0),
        (("/contact", _SUPPORT, _LINK), 1.0),
        (("/account", _ACCOUNT, _MENU), 3.0),
        (("/account/orders", _ACCOUNT, _LINK), 2.0),
        (("/signup/done", _SIGNED_UP, _BUTTON), 0.6),
        (("/cart", _CART, _BUTTON), 6.0),
        (("/checkout", _PAYMENT, _BUTTON), 3.0),
        (("/checkout/confirmed", _CONVERSION, _BUTTON), 1.8),
        *(((f"/products/{n}", _PRODUCT, _RESULT), 10.0 / n) for n in range(1, 13)),
        *(((f"/products/{n}", _PRODUCT, _IMAGE), 12.0 / n) for n in range(1, 13)),
        (("/about", None, _LINK), 0.5),
    ]
)
_LANDINGS = weighted_table(
    [
        (("/home", _HOME, _LINK), 10.0),
        (("/offers", _CATALOG, _LINK), 4.0),
        *(((f"/products/{n}", _PRODUCT, _LINK), 6.0 / n) for n in range(1, 13)),
        (("/blog", _CONTENT, _LINK), 2.0),
    ]
)
_REFERRERS = weighted_table(
    [
        (None, 30.0),
        ("https://www.google.com/", 34.0),
        ("https://duckduckgo.com/", 4.0),
        ("https://www.bing.com/", 5.0),
        ("https://news.ycombinator.com/", 2.0),
        ("https://www.instagram.com/", 9.0),
        ("https://mail.example.com/newsletter", 8.0),
        ("https://partner.example.com/", 8.0),
    ]
)


def _kit(kind: str, system: str, resolution: str, agent: str) -> tuple[DeviceInfo, str]:
    return DeviceInfo(kind, system, resolution), agent


_KITS = weighted_table(
    [
        (_kit("mobile", "Android 15", "412x915", "Mozilla/5.0 (Linux; Android 15) Chrome/131.0 Mobile"), 30.0),
        (_kit("mobile", "iOS 18", "393x852", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1) Safari/605.1"), 22.0),
        (_kit("mobile", "Android 14", "360x800", "Mozilla/5.0 (Android 14; Mobile) Firefox/133.0"), 3.0),
        (_kit("desktop", "Windows 11", "1920x1080", "Mozilla/5.0 (Windows NT 10.0; Win64) Chrome/131.0"), 18.0),
        (_kit("desktop", "Windows 11", "2560x1440", "Mozilla/5.0 (Windows NT 10.0; Win64) Edg/131.0"), 8.0),
        (_kit("desktop", "macOS 15", "1512x982", "Mozilla/5.0 (Macintosh; Intel Mac OS X) Safari/605.1"), 7.0),
        (_kit("desktop", "Linux", "1920x1200", "Mozilla/5.0 (X11; Linux x86_64) Firefox/133.0"), 5.0),
        (_kit("tablet", "iPadOS 18", "820x1180", "Mozilla/5.0 (iPad; CPU OS 18_1) Safari/605.1"), 5.0),
        (_kit("tablet", "Android 15", "800x1280", "Mozilla/5.0 (Linux; Android 15; Tab) Chrome/131.0"), 2.0),
    ]
)
_OTHER_DEVICE = 0.2
_RETURNS = 0.5
_NEVER = 1 << 62


class _Visitor:
    """A user, who is away or on the site until some time."""

    __slots__ = ("clicks", "kit", "last_ms", "name", "other_kit", "present", "referrer", "until_ms", "using")

    def __init__(self, name: str, kit: int, other_kit: int) -> None:
        self.name = name
        self.kit, self.other_kit = kit, other_kit
        self.using = _KITS[kit]
        self.referrer: str | None = None
        self.clicks = self.until_ms = 0
        self.last_ms = -1
        self.present = False


class UserClicksGenerator:
    """Users click when they are due. If none is due, a user who was away long enough arrives, or the next is early.

    So visits are equally long in event time at any rate, and their pauses are shorter than GAP_MS. Visitors are away
    for longer than that if enough others click meanwhile. A few users at a high rate are never away.
    """

    def __init__(self, options: Options) -> None:
        start_ms = FIXED_START_MS if options.start_ms is None else options.start_ms
        self._random = random = Random(f"user_clicks {options.seed}")
        self._visitors = [
            _Visitor(f"user_{number:06d}", random.getrandbits(12), random.getrandbits(12))
            for number in range(options.keys)
        ]
        self._pauses = lognormal(random, median=6_000, sigma=0.8, low=300, high=20_000)
        self._visits = lognormal(random, median=32_000, sigma=0.8, low=0, high=600_000)
        self._absences = lognormal(random, median=55_000, sigma=0.7, low=GAP_MS + 1_000, high=1_800_000)
        self._times_on_page = lognormal(random, median=4_000, sigma=1.0, low=0, high=120_000)
        self._new = sorted((start_ms + int(random.random() * 60_000), n) for n in range(options.keys))
        self._new.reverse()
        self._away: list[tuple[int, int]] = []
        self._due: list[tuple[int, int]] = []
        self._run = hashlib.sha256(f"{options.seed} {start_ms}".encode()).hexdigest()[:8]
        self._number = 0

    def next_event(self, timestamp: int) -> Event[UserClick]:
        """Return the next click of one of the visitors."""
        due = self._due
        if due and (due[0][0] <= timestamp or min(self._arrivals()) > timestamp):
            number = heapq.heappop(due)[1]
        else:
            number = self._comer(timestamp)
        return self._click(number, timestamp)

    def _arrivals(self) -> tuple[int, int]:
        """Return the times from which the next new and the next returning visitor may arrive."""
        return self._new[-1][0] if self._new else _NEVER, self._away[0][0] if self._away else _NEVER

    def _comer(self, timestamp: int) -> int:
        """Return the next visitor to arrive: new or returning at random while there are both."""
        new, back = self._arrivals()
        returns = self._random.random() < _RETURNS if max(new, back) <= timestamp else back < new
        return heapq.heappop(self._away)[1] if returns else self._new.pop()[1]

    def _click(self, number: int, timestamp: int) -> Event[UserClick]:
        random, visitor = self._random, self._visitors[number]
        bits = random.getrandbits(36)
        info = _NO_GAP
        if visitor.present:
            page, metadata, interaction = _PAGES[bits & MASK]
        else:
            page, metadata, interaction = _LANDINGS[bits & MASK]
            if visitor.clicks and timestamp - visitor.last_ms > GAP_MS:
                info = _GAP
            self._arrive(visitor, timestamp)
        visitor.clicks += 1
        visitor.last_ms = timestamp
        if timestamp < visitor.until_ms:
            heapq.heappush(self._due, (timestamp + self._pauses[(bits >> 12) & MASK], number))
        else:
            visitor.present = False
            heapq.heappush(self._away, (timestamp + self._absences[(bits >> 12) & MASK], number))
        self._number += 1
        device, agent = visitor.using
        value = UserClick(
            click_id=f"{self._run}-{self._number:08x}",
            user_id=visitor.name,
            page=page,
            duration_on_page=self._times_on_page[bits >> 24],
            timestamp=timestamp,
            sequence_number=visitor.clicks,
            user_agent=agent,
            device_info=device,
            referrer=visitor.referrer,
            session_info=info,
            page_metadata=metadata,
            interaction=interaction,
        )
        return Event(visitor.name, value, timestamp)

    def _arrive(self, visitor: _Visitor, timestamp: int) -> None:
        random = self._random
        bits = random.getrandbits(24)
        visitor.present = True
        visitor.until_ms = timestamp + self._visits[bits & MASK]
        visitor.referrer = _REFERRERS[bits >> 12]
        visitor.using = _KITS[visitor.other_kit if random.random() < _OTHER_DEVICE else visitor.kit]


SOURCE = Source("user_clicks", "session-analytics", "UserClick", UserClick, UserClicksGenerator, "page")
