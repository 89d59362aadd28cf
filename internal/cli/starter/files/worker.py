"""Handles the steps of greeting.yaml."""

import tasker

worker = tasker.Worker(namespaces=["starter"])


@worker.handler("greet")
async def greet(step: tasker.Step) -> dict:
    return {"text": f"Hello, {step.context['name']}!"}


@worker.handler("record")
async def record(step: tasker.Step) -> dict:
    print(step.parent_results["greet"]["text"])
    return {"recorded": True}


worker.run()
