// The client program of the behaviour suite; internal/testkit/clienttest says what it has to print.

import { Client, TaskerError, Worker } from "../src/index.js";

const client = new Client();
const later = new Date(Date.now() + 24 * 60 * 60 * 1000);

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

async function schedules(): Promise<void> {
  await client.saveSchedule({ name: "nightly", cron: "0 3 * * *", task_type: "report", end_at: later });
  await client.saveSchedule({ name: "hourly", cron: "0 * * * *", task_type: "report" });
  console.log("schedules", ...(await all(client.listSchedules({ limit: 1 }))).map((s) => s.name));
  const paused = await client.pauseSchedule("default", "nightly", { reason: "holiday" });
  console.log("state", paused.name, paused.state);
  await client.removeSchedule("default", "hourly", { reason: "not used" });
  console.log("left", ...(await all(client.listSchedules())).map((s) => s.name));
}

async function flow(): Promise<void> {
  await client.pause({ kind: "handler", handler: "charge", reason: "audit", until: later });
  console.log("pauses", ...(await all(client.listPauses())).map((p) => p.handler));
  await client.resume({ kind: "handler", handler: "charge" });
  await client.setLimit({ kind: "handler", handler: "charge", concurrency: 2 });
  console.log("limits", ...(await all(client.listLimits())).map((x) => `${x.handler}=${x.concurrency}`));
  await client.deleteLimit({ kind: "handler", handler: "charge" });
  console.log("nothing", (await all(client.listPauses())).length, (await all(client.listLimits())).length);
}

async function inbox(): Promise<void> {
  await client.reportDeadLetters({
    source: "shop",
    reports: [{ origin: "orders", payload: { id: 17 }, failure: { message: "no stock" } }],
  });
  for await (const letter of client.listDeadLetters({ source: "shop" })) {
    const story = await client.getDeadLetter(letter.letter_uuid);
    console.log("letter", story.origin, story.state);
  }
  console.log("groups", (await all(client.listGroups())).length);
  await client.signal("paid", "order-17", { amount: 12 });
  console.log("signals", ...(await all(client.listSignals())).map((s) => s.key));
}

async function events(): Promise<void> {
  const seen: string[] = [];
  for await (const event of client.events({ type: ["task.submitted"], name: "nothing" })) {
    seen.push(event.to_state ?? event.type);
    if (event.type === "stream.open") await client.submitHandler("nothing", undefined, { run_at: later });
    if (event.type === "task.submitted") break;
  }
  console.log("events", ...seen);
  console.log("templates", (await all(client.listTemplates())).length);
}

async function nothing(): Promise<void> {
  const worker = new Worker({ client, quiet: true });
  worker.handler("nothing", () => {});
  const working = worker.run();
  const task = await client.submitHandler("nothing");
  console.log("result", (await client.result(task.task_uuid)) === null ? "True" : "False");
  const kinds = (await all(client.events({ task_uuid: task.task_uuid, until: "settled" }))).map((e) => e.type);
  console.log("ended", kinds.at(-1));
  worker.stop();
  await working;
}

await schedules();
await flow();
await inbox();
await events();
await nothing();
try {
  await client.saveSchedule({ name: "bad", cron: "x", task_type: "report" });
} catch (error) {
  if (!(error instanceof TaskerError)) throw error;
  const place = error.details[0]?.location ?? "?";
  console.log("refused", place, error.message.includes(place) ? "True" : "False");
}
