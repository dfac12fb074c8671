"""The former place of `forebay.http.server`: import from there."""

from forebay.http.server import *  # noqa: F403
