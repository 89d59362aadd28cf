// Tests of the exchanges with a server, against a server that does as it is told.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, test } from "node:test";

import { Client, TaskerError, TaskFailed, type Code } from "../src/index.js";

type Answer = (response: ServerResponse) => void;

let answers: Answer[] = [];
let seen: Array<{ method: string; url: string; headers: IncomingMessage["headers"]; body: string }> = [];
let url = "";
let client: Client;
let close = () => {};

beforeEach(async () => {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += String(part)));
    request.on("end", () => {
      seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      const answer = answers.shift();
      if (answer) answer(response);
      else response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new Client({ server: url + "/prefix/", apiKey: "secret", timeoutMs: 5000 });
  close = () => {
    server.close();
    server.closeAllConnections();
  };
  seen = [];
});

afterEach(() => close());

function sends(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

const hangsUp: Answer = (response) => response.destroy();

async function refused(code: Code, call: Promise<unknown>): Promise<TaskerError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof TaskerError, String(error));
    assert.equal(error.code, code, error.message);
    return error;
  }
  assert.fail(`the call succeeds; want ${code}`);
}

test("a submission", async () => {
  answers = [sends(201, { task_uuid: "u", created: true })];
  const receipt = await client.submit("order", { id: 17 }, { tags: ["web"], idempotency_key: "k" });
  assert.equal(receipt.task_uuid, "u");
  const [request] = seen;
  assert.equal(request?.method, "POST");
  assert.equal(request?.url, "/prefix/v1/tasks");
  assert.equal(request?.headers["x-api-key"], "secret");
  assert.deepEqual(JSON.parse(request?.body ?? ""), {
    name: "order",
    context: { id: 17 },
    tags: ["web"],
    idempotency_key: "k",
  });
});

test("what reads is sent once more, a change is not", async () => {
  answers = [hangsUp, sends(200, []), hangsUp, sends(200, [])];
  assert.deepEqual(await client.steps("t"), []);
  await refused("unavailable", client.submit("order"));
  assert.equal(seen.length, 3);
});

test("pages", async () => {
  answers = [sends(200, { tasks: [{ name: "a" }], next_cursor: "c" }), sends(200, { tasks: [{ name: "b" }] })];
  const names = [];
  for await (const task of client.tasks({ state: ["error", "cancelled"], limit: 1 })) names.push(task.name);
  assert.deepEqual(names, ["a", "b"]);
  assert.equal(seen[1]?.url, "/prefix/v1/tasks?state=error&state=cancelled&limit=1&cursor=c");
});

test("time limits and signals end a call", async () => {
  const impatient = new Client({ server: url, timeoutMs: 50 });
  answers = [() => {}, () => {}];
  await refused("unavailable", impatient.submit("order"));
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 20);
  await refused("unavailable", client.call("POST", "/v1/tasks", { body: {}, signal: abort.signal }));
});

test("a problem", async () => {
  const errors = [{ location: "/name", message: "taken" }];
  const body = { title: "Conflict", detail: "it is there", code: "conflict", hint: "use another", errors };
  answers = [sends(409, body, { "Content-Type": "application/problem+json", "Retry-After": "3" })];
  const error = await refused("conflict", client.submit("order"));
  assert.equal(error.message, "it is there\n  /name: taken\n  hint: use another");
  assert.equal(error.hint, "use another");
  assert.deepEqual(error.details, errors);
  assert.equal(error.retryAfterMs, 3000);
});

test("what has no JSON form is a mistake of the caller", async () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  for (const context of [{ id: 17n }, cycle]) {
    await assert.rejects(
      client.submit("order", context),
      (e) => e instanceof TypeError && /POST .*JSON/.test(e.message),
    );
  }
  await assert.rejects(client.call("POST", "/v1/tasks", { body: () => 1 }), TypeError);
  const never = new Date("never");
  await assert.rejects(client.submit("order", null, { run_at: never }), /TypeError: run_at is an invalid Date/);
  await assert.rejects(client.submitTasks([{ name: "order", deadline_at: never }]), TypeError);
  assert.equal(seen.length, 0);
});

test("times may be dates", async () => {
  answers = [sends(201, {})];
  await client.submit("order", null, { run_at: new Date(0) });
  assert.equal(JSON.parse(seen[0]?.body ?? "").run_at, "1970-01-01T00:00:00.000Z");
});

test("events go on after a break", async () => {
  const event = (id: string, type: string) => `id: ${id}\nevent: ${type}\ndata: {"id":"${id}","type":"${type}"}\n\n`;
  const streams =
    (text: string): Answer =>
    (response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(text.slice(0, 20));
      setTimeout(() => response.end(text.slice(20)), 5);
    };
  answers = [
    streams(event("1", "stream.open") + ": alive\n\n" + event("2", "task.state") + "id: 3\n\n"),
    hangsUp,
    sends(503, {}),
    streams(event("4", "task.state") + event("5", "stream.end")),
  ];
  const types = [];
  for await (const e of client.events({ type: ["task.state"] })) types.push(e.type);
  assert.deepEqual(types, ["stream.open", "task.state", "task.state"]);
  assert.equal(seen.at(-1)?.headers["last-event-id"], "3");
  assert.equal(seen.at(-1)?.url, "/prefix/v1/events?type=task.state");
  answers = [sends(403, {})];
  await refused("forbidden", client.events().next());
  answers = [(response) => response.writeHead(200, { "Content-Type": "text/event-stream" }).write(": hello\n\n")];
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error("enough")), 20);
  await assert.rejects(client.events({}, { signal: abort.signal }).next(), /enough/);
});

test("answers of others", async () => {
  const cases: Array<[Code, Answer]> = [
    ["unavailable", sends(502, "<html>", { "Content-Type": "text/html" })],
    ["not_found", sends(404, "", { "Content-Type": "text/plain" })],
    ["internal", sends(302, "", { Location: "http://elsewhere" })],
    ["internal", sends(200, "<html>", { "Content-Type": "text/html" })],
    ["internal", sends(200, "{")],
    ["too_large", sends(200, JSON.stringify("x".repeat(2000)))],
  ];
  const small = new Client({ server: url, maxResponseBytes: 1000 });
  for (const [code, answer] of cases) {
    answers = [answer];
    await refused(code, small.get("t"));
  }
});

test("addresses", () => {
  for (const server of ["localhost:8080", "ftp://host", "http://user@host", "http://host?key=1", "?"]) {
    assert.throws(() => new Client({ server }), TaskerError);
  }
});

test("wait goes on while the server is away", async () => {
  answers = [
    sends(200, { task_uuid: "t", state: "pending" }),
    sends(503, {}),
    hangsUp,
    hangsUp,
    sends(200, { task_uuid: "t", state: "complete" }),
  ];
  assert.equal((await client.wait("t")).state, "complete");
  answers = [sends(503, {})];
  await refused("unavailable", client.wait("t")); // but not at the first call
});

test("the time of a wait is over", async () => {
  answers = Array.from({ length: 100 }, () => sends(200, { task_uuid: "t", state: "pending" }));
  await assert.rejects(client.wait("t", { timeoutMs: 200 }), { name: "TimeoutError" });
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error("enough")), 20);
  await assert.rejects(client.wait("t", { signal: abort.signal }), /enough/);
});

test("results", async () => {
  const step = { name: "charge", current_state: "complete", step_uuid: "01a21708-b4f8-7001-8d34-36020e7d37e4" };
  const done = sends(200, { task_uuid: "t", state: "complete" });
  answers = [done, sends(200, [step]), sends(200, { ...step, results: 7 })];
  assert.equal(await client.result("t"), 7);
  for (const [name, steps] of [
    [undefined, [step, step]],
    ["other", [step]],
    ["charge", [step]],
  ] as const) {
    answers = [done, sends(200, steps), sends(200, step)];
    await refused("not_found", client.result("t", name));
  }
  const failed = { name: "charge", current_state: "error", last_error: { message: "declined" } };
  answers = [sends(200, { task_uuid: "t", state: "error" }), sends(200, [failed])];
  const error = await refused("wrong_state", client.result("t"));
  assert.ok(error instanceof TaskFailed);
  assert.equal(error.step, "charge");
  assert.match(error.message, /declined/);
});
