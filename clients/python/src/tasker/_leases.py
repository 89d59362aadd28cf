"""The leases that a worker holds: when they end, and when a step has to stop because of that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .errors import LeaseLost, StepInterrupted, StepTimedOut, TaskCancelled, TaskerError, Unavailable
from .models import Assignment, LeaseAnswer
from .step import BaseStep

#: How long a step without a timeout outlives its lease while no server answers.
_LONGEST_SILENCE = 24 * 60 * 60.0


class Job:
    """A step that this worker holds. Times are on the clock of the event loop, because the server's may differ."""

    def __init__(self, assignment: Assignment, step: BaseStep, now: float, timeout: float, lease: float) -> None:
        self.assignment = assignment
        self.step = step
        self.step_uuid = assignment["step_uuid"]
        self.token = assignment["token"]
        self.timeout = timeout
        #: When the attempt is over; None: never.
        self.due = now + timeout if timeout > 0 else None
        #: `due`, until the handler has been told.
        self.deadline = self.due
        #: None: leases do not end.
        self.lease_end = now + lease if lease > 0 else None
        #: The handler has returned.
        self.ended = False
        #: Nothing more is reported.
        self.dropped = False
        #: The server has refused the result; a failure replaces it.
        self.refused = False
        #: Runs the coroutine of an asynchronous handler.
        self.task: asyncio.Task[Any] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.reference = {"step_uuid": self.step_uuid, "token": self.token}

    def interrupt(self, cause: StepInterrupted) -> None:
        """Tell the handler to stop."""
        if self.step._interrupt(cause) and self.task is not None:
            self.task.cancel()


class Leases:
    """The jobs of one registration. While no server answers, they go on beyond the end of their leases."""

    def __init__(self, log: logging.Logger, again: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._log = log
        #: Called when a server answers again: a heartbeat and the results are urgent.
        self._again = again
        #: How long a lease lasts without renewal, in seconds; 0: for ever.
        self.length = 0.0
        self.held: dict[str, Job] = {}
        self._spoken = self._loop.time()
        self._unanswered = False
        self._outliving = False

    def add(self, job: Job) -> None:
        """Take a job over. A step that comes a second time was lost unnoticed before."""
        old = self.held.get(job.step_uuid)
        if old is not None:
            self.drop(old)
            old.interrupt(LeaseLost("lease of the step was lost"))
        self.held[job.step_uuid] = job

    def drop(self, job: Job) -> None:
        """Report nothing more about a job. Its handler keeps its slot until it returns."""
        job.dropped = True
        self.release(job)

    def release(self, job: Job) -> None:
        """Forget a job that is settled."""
        if job.timer is not None:
            job.timer.cancel()
        if self.held.get(job.step_uuid) is job:
            del self.held[job.step_uuid]

    def note(self, error: TaskerError | None) -> None:
        """Learn from a call about leases whether a server answers.

        Polls do not count: a server answers them while its database is away. The first answer after a long silence
        begins a new lease for each job, because the server does the same. If only this worker was cut off, its next
        heartbeat, sent at once, tells which leases are lost.
        """
        now = self._loop.time()
        if isinstance(error, Unavailable):
            self._unanswered = True
            return
        silent = now - self._spoken
        again = self._unanswered and silent >= self.length / 3  # otherwise the regular beat is early enough
        self._spoken, self._unanswered, self._outliving = now, False, False
        if not again:
            return
        self._again()
        if silent < self.length / 2:
            return
        for job in self.held.values():
            if job.lease_end is not None and job.lease_end < now + self.length:
                self._hold(job, now + self.length)

    def renew(self, jobs: Iterable[Job], answers: Iterable[LeaseAnswer], sent: float) -> None:
        """Apply what the server says of leases. One that it does not mention is renewed from the time of the call."""
        gone: Mapping[str, str] = {a["step_uuid"]: a["status"] for a in answers if a["status"] != "held"}
        for job in jobs:
            if job.dropped:
                continue
            status = gone.get(job.step_uuid)
            if status is None:
                if self.length > 0:
                    self._hold(job, sent + self.length)
            elif not job.ended:  # else the server has the result, or is about to refuse it
                self.drop(job)
                if status == "cancelled":
                    job.interrupt(TaskCancelled("task was cancelled"))
                else:
                    self._log.warning("lease of step %s was lost, stopping it", job.step_uuid)
                    job.interrupt(LeaseLost("lease of the step was lost"))

    def lost_at(self, job: Job, now: float) -> float | None:
        """When a job is given up unless its lease is renewed.

        While no server answers, perhaps no server takes the step away, so the end of the lease is no reason to stop.
        The end of the attempt is one; a further lease is added for the report of the timeout.
        """
        end = job.lease_end
        if end is None or now < end or not self._silent(now):
            return end
        if job.due is None:
            return end + _LONGEST_SILENCE
        return max(job.due + self.length, end)

    def watch(self, job: Job) -> None:
        """See to it that `_expire` runs when the deadline or the lease of a job ends."""
        if job.timer is not None:
            job.timer.cancel()
            job.timer = None
        ends = [t for t in (self.lost_at(job, self._loop.time()), job.deadline) if t is not None]
        if ends and not job.ended:
            job.timer = self._loop.call_at(min(ends), self._expire, job)

    def _hold(self, job: Job, end: float) -> None:
        job.lease_end = end
        self.watch(job)

    def _silent(self, now: float) -> bool:
        """Whether no server has answered for so long that no lease could be renewed."""
        return self._unanswered and now - self._spoken >= self.length / 2

    def _expire(self, job: Job) -> None:
        now = self._loop.time()
        if job.ended or job.dropped:
            return
        lost = self.lost_at(job, now)
        if lost is not None and now >= lost:
            self.drop(job)
            self._log.warning("lease of step %s ran out, stopping it", job.step_uuid)
            job.interrupt(LeaseLost("lease of the step was lost"))
            return
        if job.lease_end is not None and now >= job.lease_end and not self._outliving:
            self._outliving = True  # once for all jobs
            self._log.warning("no server answers, steps go on past the end of their leases")
        if job.deadline is not None and now >= job.deadline:
            job.deadline = None  # once
            job.interrupt(StepTimedOut(f"step timed out after {job.timeout:g} s"))
        self.watch(job)
