"""Ctrl-C and its like during a run: the first ends the run in order and records it, the second ends it at once."""

import os
import signal
import threading
from typing import Literal

import anyio

from signoff.cli.main import INTERRUPTED_EXIT
from signoff.cli.output import report
from signoff.core.goal.events import CancelRequested
from signoff.ports import Clock
from signoff.process import Stop
from signoff.runtime.goal import GoalRun

_NAMES: dict[int, Literal["SIGINT", "SIGTERM", "SIGHUP"]] = {
    signal.SIGINT: "SIGINT",
    signal.SIGTERM: "SIGTERM",
    signal.SIGHUP: "SIGHUP",
}
_LAST_GRACE_SECONDS = 1.0


async def heed_signals(run: GoalRun, *, stop: Stop, clock: Clock) -> None:
    """Wait for signals until cancelled."""
    asked = False
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as received:
        async for number in received:
            if asked:
                _end_at_once(stop)
            else:
                asked = True
                report("cancelling: what is running is ended and the run recorded; once more ends at once")
                run.cancel(CancelRequested(at=clock.now(), by=_NAMES[number]))


def _end_at_once(stop: Stop) -> None:
    stop.now()
    # The processes are being killed in their threads; whatever else still waits is not waited for.
    timer = threading.Timer(_LAST_GRACE_SECONDS, os._exit, (INTERRUPTED_EXIT,))
    timer.daemon = True
    timer.start()
