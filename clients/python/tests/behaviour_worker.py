"""The worker program of the behaviour suite; the Go package internal/testkit/clienttest says what it has to do."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from typing import Any

import tasker

options = json.loads(os.environ["TASKER_TEST_WORKER"])


class Worker(tasker.Worker):
    """Says that it has got the signal."""

    def stop(self) -> None:
        super().stop()
        say("stopping")


worker = Worker(
    name=options["name"],
    namespaces=options.get("namespaces", []),
    concurrency=options["concurrency"],
    shutdown_timeout=options["shutdown_seconds"],
)
causes = {
    tasker.TaskCancelled: "cancelled",
    tasker.LeaseLost: "lost",
    tasker.WorkerStopping: "draining",
    tasker.StepTimedOut: "timeout",
}


def say(*words: object) -> None:
    print(*words, flush=True)


def begin(step: tasker.BaseStep) -> dict[str, Any]:
    order: dict[str, Any] = step.context
    say("begin", order["ref"], step.attempt)
    if text := order.get("log"):
        print(text, file=step.log)
    return order


def told(step: tasker.BaseStep) -> str:
    cause = causes[type(step.interruption)]  # type: ignore[index]
    say("told", step.context["ref"], cause)
    return cause


def finish(step: tasker.BaseStep, order: dict[str, Any]) -> Any:
    fail = order.get("fail", {})
    if step.attempt <= fail.get("attempts", 0):
        match fail["how"]:
            case "final":
                raise tasker.FinalError(fail["message"], code=fail["code"], details={"ref": order["ref"]})
            case "retryable":
                raise tasker.RetryableError(fail["message"], code=fail["code"], retry_after=0.2)
        raise ValueError(fail["message"])
    if "snooze" in order and step.last_checkpoint is None:
        raise tasker.Snooze(order["snooze"])
    if "bytes" in order:
        return "x" * order["bytes"]
    say("end", order["ref"])
    return {
        "ref": order["ref"],
        "attempt": step.attempt,
        "checkpoint": step.last_checkpoint,
        "parents": step.parent_results,
        "worker": options["name"],
    }


async def act(step: tasker.Step) -> Any:
    order = begin(step)
    if "progress" in order:
        await step.progress(order["progress"], "under way")
    if "checkpoint" in order and step.last_checkpoint is None:
        await step.checkpoint(order["checkpoint"])
    try:
        while "gate" in order and not os.path.exists(order["gate"]):
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        if told(step) == "draining":
            await step.checkpoint({"saved": "while draining"})
        raise
    return finish(step, order)


def act_in_thread(step: tasker.SyncStep) -> Any:
    order = begin(step)
    if "progress" in order:
        step.progress(order["progress"], "under way")
    if "checkpoint" in order and step.last_checkpoint is None:
        step.checkpoint(order["checkpoint"])
    try:
        while "gate" in order and not os.path.exists(order["gate"]):
            step.sleep(0.01)
    except tasker.StepInterrupted:
        if told(step) == "draining":
            step.checkpoint({"saved": "while draining"})
        raise
    return finish(step, order)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    if options.get("threads"):
        worker.handler("act")(act_in_thread)
        worker.handler("narrow", concurrency=1)(act_in_thread)
        worker.handler("short", timeout=1)(act_in_thread)
    else:
        worker.handler("act")(act)
        worker.handler("narrow", concurrency=1)(act)
        worker.handler("short", timeout=1)(act)
    worker.run()
    say("ended")


if __name__ == "__main__":
    main()
