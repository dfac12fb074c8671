"""The former place of `forebay.http`: import from there."""

from forebay.http.messages import *  # noqa: F403
from forebay.http.server import *  # noqa: F403
