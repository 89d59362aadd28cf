/** The step that a handler runs. */

import { inspect } from "node:util";

import { FinalError, StepInterrupted } from "./errors.js";
import type { Assignment } from "./models.js";

/** The message of a progress report, in bytes of UTF-8. */
const maxStatus = 1024;

/** Where a step sends its reports. */
export type Report = (step: Step, report: Record<string, unknown>) => Promise<void>;

/** What a handler knows of its step. A test of a handler can make one from an assignment alone. */
export class Step<Context = unknown> {
  readonly #abort = new AbortController();
  readonly #report: Report | undefined;
  readonly #limit: number;
  #tail = Buffer.alloc(0);
  #size = 0;

  constructor(
    /** The step as the server sent it. Its times are on the clock of the server. */
    readonly assignment: Assignment,
    report?: Report,
    maxLogBytes = 64 << 10,
  ) {
    this.#report = report;
    this.#limit = maxLogBytes;
  }

  /** The context of the task: its input. */
  get context(): Context {
    return this.assignment.parameters as Context;
  }

  /** The results of the steps that this one depends on directly, by name. */
  get parentResults(): Record<string, unknown> {
    return this.assignment.parent_results ?? {};
  }

  /**
   * The result of a parent. Without one it is the fallback; without that, the step fails for good: the parent returned
   * nothing, was skipped, or an operator resolved it.
   */
  parentResult<T = unknown>(name: string, fallback?: T): T {
    const result = this.parentResults[name] ?? fallback;
    if (result === undefined) {
      throw new FinalError(`step ${this.name} has no result of a parent "${name}"`, { code: "not_found" });
    }
    return result as T;
  }

  /** What an earlier attempt has stored by `checkpoint`; undefined if there is nothing. */
  get lastCheckpoint(): unknown {
    return this.assignment.checkpoint;
  }

  get name(): string {
    return this.assignment.step_name;
  }

  get taskUuid(): string {
    return this.assignment.task_uuid;
  }

  get stepUuid(): string {
    return this.assignment.step_uuid;
  }

  /** The number of the attempt, counted from 1. */
  get attempt(): number {
    return this.assignment.attempt;
  }

  get maxAttempts(): number {
    return this.assignment.max_attempts;
  }

  /** Is aborted when the handler has to stop, with a StepInterrupted as its reason. Pass it to fetch, timers, ... */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Report a progress of 0 to 100 percent, which renews the lease. It sends a request: report now and then. */
  async progress(percent: number, message = ""): Promise<void> {
    await this.#report?.(this, {
      progress_percent: Math.min(Math.max(Math.round(percent), 0), 100),
      status_message: cut(message.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, "\ufffd"), maxStatus),
    });
  }

  /**
   * Store where the step is, as JSON, for its next attempt; it is stored when this resolves. null deletes it. It renews
   * the lease. It also works while the handler cleans up after a timeout or the end of the worker.
   */
  async checkpoint(value: unknown): Promise<void> {
    await this.#report?.(this, { checkpoint: value ?? null });
  }

  /** Write a line to the log of the attempt, which operators see beside it. Keep secrets out of it. */
  log(...words: unknown[]): void {
    const line = words.map(textOf).join(" ") + "\n";
    const raw = Buffer.from(line);
    this.#size += raw.length;
    const all = Buffer.concat([this.#tail, raw]);
    this.#tail = all.subarray(Math.max(all.length - this.#limit, 0));
  }

  /** For the worker: tell the handler to stop. The first reason counts. */
  interrupt(reason: StepInterrupted): void {
    if (!this.#abort.signal.aborted) this.#abort.abort(reason);
  }

  /** For the worker: why the handler has to stop. */
  get interruption(): StepInterrupted | undefined {
    return this.#abort.signal.aborted ? (this.#abort.signal.reason as StepInterrupted) : undefined;
  }

  /** For the worker: the end of the log, and the size of all. */
  get logged(): { log: string; log_bytes: number } | undefined {
    if (this.#size === 0) return undefined;
    let from = 0; // not in the middle of a character
    while (from < this.#tail.length && (this.#tail[from]! & 0xc0) === 0x80) from++;
    return { log: this.#tail.toString("utf8", from), log_bytes: this.#size };
  }
}

/** What a log shows of a value: its JSON, or what Node.js shows of one that has none, such as a BigInt. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!(value instanceof Error)) {
    try {
      const text = JSON.stringify(value) as string | undefined;
      if (text !== undefined) return text;
    } catch {
      // it has none
    }
  }
  return inspect(value);
}

/** Cut a text to bytes of UTF-8, at a whole character. */
export function cut(text: string, bytes: number): string {
  const raw = Buffer.from(text);
  if (raw.length <= bytes) return raw.toString("utf8"); // repairs half of a pair of surrogates, too
  let end = bytes;
  while (end > 0 && (raw[end]! & 0xc0) === 0x80) end--;
  return raw.toString("utf8", 0, end);
}
