"""The embedded platform: a real Kafka broker and schema registry as child processes, no containers."""

from forebay.platform.component import Component
from forebay.platform.errors import PlatformError
from forebay.platform.platform import Endpoints, Platform
from forebay.platform.progress import PlainProgress, Progress, RichProgress, SilentProgress
from forebay.platform.state import Ports
from forebay.platform.status import ComponentStatus, PlatformStatus

__all__ = [
    "Component",
    "ComponentStatus",
    "Endpoints",
    "PlainProgress",
    "Platform",
    "PlatformError",
    "PlatformStatus",
    "Ports",
    "Progress",
    "RichProgress",
    "SilentProgress",
]
