"""The client program of the behaviour suite; internal/testkit/clienttest says what it has to print."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import tasker

client = tasker.Client()
later = datetime.now(UTC) + timedelta(days=1)


def schedules() -> None:
    client.save_schedule({"name": "nightly", "cron": "0 3 * * *", "task_type": "report", "end_at": later})
    client.save_schedule({"name": "hourly", "cron": "0 * * * *", "task_type": "report"})
    print("schedules", *(s["name"] for s in client.list_schedules(limit=1)))
    paused = client.pause_schedule("default", "nightly", {"reason": "holiday"})
    print("state", paused["name"], paused["state"])
    client.remove_schedule("default", "hourly", reason="not used")
    print("left", *(s["name"] for s in client.list_schedules()))


def flow() -> None:
    client.pause({"kind": "handler", "handler": "charge", "reason": "audit", "until": later})
    print("pauses", *(p["handler"] for p in client.list_pauses()))
    client.resume({"kind": "handler", "handler": "charge"})
    client.set_limit({"kind": "handler", "handler": "charge", "concurrency": 2})
    print("limits", *(f"{x['handler']}={x['concurrency']}" for x in client.list_limits()))
    client.delete_limit({"kind": "handler", "handler": "charge"})
    print("nothing", len(list(client.list_pauses())), len(list(client.list_limits())))


def inbox() -> None:
    client.report_dead_letters(
        {
            "source": "shop",
            "reports": [{"origin": "orders", "payload": {"id": 17}, "failure": {"message": "no stock"}}],
        }
    )
    for letter in client.list_dead_letters(source="shop"):
        story = client.get_dead_letter(letter["letter_uuid"])
        print("letter", story["origin"], story["state"])
    print("groups", len(list(client.list_groups())))
    client.signal("paid", "order-17", {"amount": 12})
    print("signals", *(s["key"] for s in client.list_signals()))


async def events() -> None:
    same = tasker.AsyncClient()
    submitted = asyncio.Event()
    seen = []
    async for event in same.events(type=["task.submitted"], name="nothing"):
        seen.append(event.get("to_state") or event["type"])
        if event["type"] == "stream.open" and not submitted.is_set():
            submitted.set()
            await same.submit_handler("nothing", run_at=later)
        if event["type"] == "task.submitted":
            break
    print("events", *seen)
    tasks = await same.list_templates()
    print("templates", len(tasks))


async def nothing() -> None:
    worker = tasker.Worker(client, quiet=True)

    @worker.handler("nothing")
    async def handle(step: tasker.Step[None]) -> None: ...

    working = asyncio.create_task(worker.serve())
    same = tasker.AsyncClient()
    task = await same.submit_handler("nothing")
    print("result", await same.result(task["task_uuid"], timeout=60) is None)
    kinds = [e["type"] async for e in same.events(task_uuid=task["task_uuid"], until="settled")]
    print("ended", kinds[-1])
    worker.stop()
    await working


def main() -> None:
    schedules()
    flow()
    inbox()
    asyncio.run(events())
    asyncio.run(nothing())
    try:
        client.save_schedule({"name": "bad", "cron": "x", "task_type": "report"})
    except tasker.Invalid as e:
        print("refused", e.details[0]["location"], e.details[0]["location"] in str(e))


if __name__ == "__main__":
    main()
