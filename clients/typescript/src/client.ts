/** The client: it submits tasks, and reads and repairs them. */

import { TaskerError, TaskFailed, type ErrorExtras } from "./errors.js";
import { pathOf, Transport, type CallOptions, type ClientOptions, type Query } from "./http.js";
import type {
  Approval,
  ApprovalPage,
  AttemptLog,
  EditedContext,
  Event,
  Explanation,
  Signal,
  Step as StepState,
  Task,
  TaskHistory,
  TaskPage,
  TaskReceipt,
  TaskRequest,
  Template,
} from "./models.js";
import { Operations } from "./operations.js";
import { now, pause, Wake } from "./time.js";

/** One long poll of wait; below the idle timeout of common proxies. */
const waitRound = 30_000;
/** How long wait tries again while no server answers. */
const waitPatience = 60_000;
const settled: readonly string[] = ["complete", "error", "cancelled", "resolved_manually"];
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What a submission may say besides what is to run and its context. The words are those of the HTTP API. */
export type TaskOptions = Omit<TaskRequest, "name" | "task_type" | "context">;

/** Who acts, and why. */
export interface Act {
  by: string;
  reason: string;
}

/** How long a call may take. */
export interface WaitOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** A client of one server. One for each process is enough. Nothing connects before the first call. */
export class Client extends Operations {
  /** For the worker. */
  readonly transport: Transport;

  constructor(options: ClientOptions = {}) {
    super();
    this.transport = new Transport(options);
  }

  /** The address of the server. */
  get server(): string {
    return this.transport.base;
  }

  /** Send any request of the API; `models` has the types of the answers. */
  async call<T = unknown>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    return (await this.transport.call(method, path, options)) as T;
  }

  // ----- submit

  /**
   * Submit a task of a template, and return when it is durable. It does not wait for the task to run. After
   * `unavailable` the task may or may not be there: submit again, with the same idempotency_key.
   */
  async submit(template: string, context?: unknown, options: TaskOptions = {}): Promise<TaskReceipt> {
    return this.call("POST", "/v1/tasks", { body: { ...checked(options), name: template, context } });
  }

  /** Submit a task without a template: its one step is run by any worker that has the handler. */
  async submitHandler(handler: string, context?: unknown, options: TaskOptions = {}): Promise<TaskReceipt> {
    return this.call("POST", "/v1/tasks", { body: { ...checked(options), task_type: handler, context } });
  }

  /** Submit tasks that are stored together or not at all. */
  async submitTasks(tasks: readonly TaskRequest[]): Promise<TaskReceipt[]> {
    tasks.forEach(checked);
    const answer = await this.call<{ results: TaskReceipt[] }>("POST", "/v1/tasks/batch", { body: { tasks } });
    return answer.results;
  }

  /** Tell waiting steps what has happened in another system. With an ID it can be sent again after an error. */
  signal(
    name: string,
    key: string,
    payload?: unknown,
    options: { signal_id?: string; namespace?: string } = {},
  ): Promise<Signal> {
    return this.call("POST", "/v1/signals", { body: { ...options, name, key, payload } });
  }

  /** Register a template from its YAML. */
  registerTemplate(yaml: string): Promise<Template> {
    return this.call("POST", "/v1/templates", { body: yaml, contentType: "application/yaml" });
  }

  // ----- read

  /** Return a task: now, or when it is settled or the wait is over. */
  get(taskUuid: string, options: { waitMs?: number; signal?: AbortSignal } = {}): Promise<Task> {
    const { waitMs = 0, signal } = options;
    const call: CallOptions = { timeoutMs: this.transport.timeoutMs + waitMs };
    if (waitMs > 0) call.query = { wait_ms: Math.ceil(waitMs) };
    if (signal) call.signal = signal;
    return this.call("GET", pathOf("v1", "tasks", taskUuid), call);
  }

  /** Iterate over tasks, newest first; the filters are those of GET /v1/tasks. It reads page by page. */
  async *tasks(filters: Query = {}): AsyncGenerator<Task, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page: TaskPage = await this.call("GET", "/v1/tasks", { query: { ...filters, cursor } });
      yield* page.tasks;
      cursor = page.next_cursor;
      if (!cursor) return;
    }
  }

  /** Return the steps of a task, in the order of its template, without their results. */
  steps(taskUuid: string): Promise<StepState[]> {
    return this.call("GET", pathOf("v1", "tasks", taskUuid, "workflow_steps"));
  }

  /** Return a step with its result. It is named by its UUID, or by its name in the template. */
  async step(taskUuid: string, step: string): Promise<StepState> {
    return this.call("GET", await this.#stepPath(taskUuid, step));
  }

  /** Return every change of state of a task and its steps, and all attempts. */
  history(taskUuid: string): Promise<TaskHistory> {
    return this.call("GET", pathOf("v1", "tasks", taskUuid, "history"));
  }

  /** Say in sentences why a task is in its state, and what would change it. */
  explain(taskUuid: string): Promise<Explanation> {
    return this.call("GET", pathOf("v1", "tasks", taskUuid, "explain"));
  }

  /** Return what the attempts of a step have logged. */
  async logs(taskUuid: string, step: string): Promise<AttemptLog[]> {
    return this.call("GET", (await this.#stepPath(taskUuid, step)) + "/logs");
  }

  /** Iterate over the steps that wait for an approval, the longest wait first. */
  async *approvals(filters: Query = {}): AsyncGenerator<Approval, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page: ApprovalPage = await this.call("GET", "/v1/approvals", { query: { ...filters, cursor } });
      yield* page.approvals;
      cursor = page.next_cursor;
      if (!cursor) return;
    }
  }

  /**
   * Iterate over events as they happen, from now on, or after the event with an ID. The filters are those of
   * GET /v1/events; with task_uuid and until: "settled" it ends when the tasks are settled. A broken stream is resumed,
   * without a time limit; an event `stream.gap` marks a place where others may be missing. What prevents the first
   * stream is thrown at once.
   */
  async *events(
    filters: Query = {},
    options: { after?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<Event, void, undefined> {
    let { after } = options;
    const { signal } = options;
    for (let failures = 0, opened = false; ; ) {
      try {
        for await (const [id, data] of this.transport.events("/v1/events", { query: filters, after, signal })) {
          failures = 0;
          opened = true;
          after = id || after;
          const event = data as Event | undefined;
          if (event?.type === "stream.end") return;
          if (event && event.type !== "stream.alive") yield event;
        }
      } catch (error) {
        signal?.throwIfAborted();
        const back = error instanceof TaskerError && ["unavailable", "exhausted", "internal"].includes(error.code);
        if (!opened || !back) throw error;
        failures++;
        await sleep(Math.max(pause(failures), Math.min(error.retryAfterMs, 60_000)), signal);
      }
    }
  }

  /**
   * Wait until a task is settled and return it. One in error is no exception: look at its state, or use `result`. While
   * no server answers, it tries again for a minute. When the time is over, it throws a DOMException "TimeoutError".
   */
  async wait(taskUuid: string, options: WaitOptions = {}): Promise<Task> {
    const { timeoutMs = Infinity, signal } = options;
    const deadline = now() + timeoutMs;
    let heard = -Infinity;
    for (let tries = 0; ; ) {
      signal?.throwIfAborted();
      const left = Math.min(deadline - now(), waitRound);
      if (left <= 0) {
        throw new DOMException(`task ${taskUuid} is not settled after ${timeoutMs} ms`, "TimeoutError");
      }
      const begun = now();
      try {
        const task = await this.get(taskUuid, signal ? { waitMs: left, signal } : { waitMs: left });
        heard = now();
        if (settled.includes(task.state)) return task;
        if (now() - begun >= 1000) {
          tries = 0;
          continue;
        }
      } catch (error) {
        signal?.throwIfAborted();
        const away = error instanceof TaskerError && error.code === "unavailable";
        if (!away || now() - heard >= waitPatience) throw error;
      }
      tries++; // nothing, or less than was asked for
      await new Wake().wait(Math.min(pause(tries), left));
    }
  }

  /**
   * Wait until a task is settled and return the result of a step; without a name, that of its only step.
   *
   * It returns if and only if the task succeeded. TaskFailed: it is in error or cancelled, whichever step was asked for.
   * `not_found`: there is no such task or step, or the step has no result.
   */
  async result<T = unknown>(taskUuid: string, step?: string, options: WaitOptions = {}): Promise<T> {
    const task = await this.wait(taskUuid, options);
    const steps = await this.steps(taskUuid);
    if (task.state !== "complete" && task.state !== "resolved_manually") throw failureOf(task, steps, step);
    const found = step === undefined ? steps : steps.filter((s) => s.name === step);
    const [one] = found;
    if (one === undefined || found.length > 1) {
      if (step !== undefined) throw new TaskerError("not_found", `task ${taskUuid} has no step "${step}"`);
      throw new TaskerError("not_found", `task ${taskUuid} has ${steps.length} steps`, {
        hint: "name the one whose result you want",
      });
    }
    const whole = await this.step(taskUuid, one.step_uuid);
    if (whole.results === undefined) {
      throw new TaskerError(
        "not_found",
        `step ${whole.name} of task ${taskUuid} is ${whole.current_state} and has no result`,
      );
    }
    return whole.results as T;
  }

  // ----- act

  /** Cancel a task. Its workers learn it with their next heartbeat. `wrong_state`: it has ended already. */
  async cancel(taskUuid: string, act: Partial<Act> = {}): Promise<TaskReceipt> {
    const body = { task_uuids: [taskUuid], reason: act.reason, cancelled_by: act.by };
    const answer = await this.call<{ results: TaskReceipt[] }>("POST", "/v1/tasks/cancel", { body });
    const [receipt] = answer.results;
    if (receipt === undefined) throw new TaskerError("internal", "the server answered for no task");
    if (receipt.error) {
      const extras: ErrorExtras = {};
      if (receipt.error.hint !== undefined) extras.hint = receipt.error.hint;
      if (receipt.error.details !== undefined) extras.details = receipt.error.details;
      throw new TaskerError(receipt.error.code, receipt.error.message, extras);
    }
    return receipt;
  }

  /** Approve a step that waits for it. */
  approve(taskUuid: string, step: string, act: Act): Promise<StepState> {
    return this.#act(taskUuid, step, { action_type: "approve", decided_by: act.by, reason: act.reason });
  }

  /** Reject a step that waits for an approval. */
  reject(taskUuid: string, step: string, act: Act): Promise<StepState> {
    return this.#act(taskUuid, step, { action_type: "reject", decided_by: act.by, reason: act.reason });
  }

  /** Run a failed step again, with all of its attempts. */
  resetStep(taskUuid: string, step: string, act: Act & { discardCheckpoint?: boolean }): Promise<StepState> {
    const body = { action_type: "reset_for_retry", reset_by: act.by, reason: act.reason };
    return this.#act(taskUuid, step, act.discardCheckpoint ? { ...body, discard_checkpoint: true } : body);
  }

  /** Replace the context of a failed task, or merge a patch into it, and run its failed steps again. */
  editContext(
    taskUuid: string,
    change: { context: unknown } | { merge: unknown },
    act: Act & { expectedVersion?: number },
  ): Promise<EditedContext> {
    const body = { ...change, edited_by: act.by, reason: act.reason, expected_context_version: act.expectedVersion };
    return this.call("PATCH", pathOf("v1", "tasks", taskUuid, "context"), { body });
  }

  async #act(taskUuid: string, step: string, body: unknown): Promise<StepState> {
    return this.call("PATCH", await this.#stepPath(taskUuid, step), { body });
  }

  async #stepPath(taskUuid: string, step: string): Promise<string> {
    let id = step;
    if (!uuid.test(step)) {
      const found = (await this.steps(taskUuid)).find((s) => s.name === step);
      if (!found) throw new TaskerError("not_found", `task ${taskUuid} has no step "${step}"`);
      id = found.step_uuid;
    }
    return pathOf("v1", "tasks", taskUuid, "workflow_steps", id);
  }
}

/** Refuse a time that is none: JSON makes null of it, which is no time at all. */
function checked<T extends object>(options: T): T {
  for (const [key, value] of Object.entries(options)) {
    if (value instanceof Date && Number.isNaN(value.getTime())) throw new TypeError(`${key} is an invalid Date`);
  }
  return options;
}

/** Pause; a signal ends it with its reason. */
async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const wake = new Wake();
  const end = () => wake.set();
  signal?.addEventListener("abort", end, { once: true });
  await wake.wait(ms);
  signal?.removeEventListener("abort", end);
  signal?.throwIfAborted();
}

function failureOf(task: Task, steps: readonly StepState[], asked: string | undefined): TaskFailed {
  const failed = steps.filter((s) => s.current_state === "error");
  const blamed = failed.find((s) => s.name === asked) ?? failed[0];
  let message = `task ${task.task_uuid} is in ${task.state}`;
  if (task.state === "cancelled") {
    message = `task ${task.task_uuid} was cancelled`;
    if (task.cancelled_by) message += ` by ${task.cancelled_by}`;
    if (task.cancel_reason) message += `: ${task.cancel_reason}`;
  }
  if (blamed) message += `: step ${blamed.name} failed`;
  if (blamed?.last_error) message += `: ${blamed.last_error.message}`;
  return new TaskFailed(
    message,
    task.task_uuid,
    task.state,
    blamed?.name ?? "",
    blamed?.last_error,
    Math.max(failed.length - 1, 0),
  );
}
