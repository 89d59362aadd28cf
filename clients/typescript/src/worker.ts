/** The worker: it claims steps and runs their handlers. */

import { hostname } from "node:os";

import { Client } from "./client.js";
import { WorkerError } from "./errors.js";
import { Session, type Registered } from "./session.js";
import type { Step } from "./step.js";

/**
 * Runs one step. What it returns, as JSON, is the result of the step. It must not block the event loop, or heartbeats
 * stop. When it has to stop, the signal of the step is aborted.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Handler<Context = any> = (step: Step<Context>) => unknown;

export interface HandlerOptions {
  /** Slots of its own. To the server the handler is then a worker of its own, NAME/HANDLER. */
  concurrency?: number;
  /** Of an attempt. That of the step holds, too; the earlier one counts. */
  timeoutMs?: number;
  /** The error of this attempt is final. The policy of the step holds, too. */
  maxAttempts?: number;
  /**
   * The next attempt waits at least baseMs, twice as long after each further one, and limitMs at most. The policy of the
   * step holds, too: the longer pause counts. An error with retryAfterMs keeps its own.
   */
  backoff?: { baseMs: number; limitMs: number };
}

/** Gets messages for operators. `console` is one. */
export type Logger = Pick<Console, "info" | "warn" | "error">;

export interface WorkerOptions {
  /** Whose server it works for. Defaults to that of the environment. */
  client?: Client;
  /** What operators see. Defaults to host name and process ID. */
  name?: string;
  /** Which it serves. Defaults to those of the key, if it is limited, and else to default. "*" alone: all. */
  namespaces?: readonly string[];
  /** It gets no step that requires another. */
  capabilities?: readonly string[];
  /** How many steps run at once. Defaults to 10. */
  concurrency?: number;
  /** How long running handlers may go on after the worker was told to stop. Defaults to 30 s. */
  shutdownTimeoutMs?: number;
  /** The bound of one long poll. Defaults to 20 s. */
  pollWaitMs?: number;
  /** Instead of the server's; either is shortened to a third of the lease. */
  heartbeatIntervalMs?: number;
  /**
   * Gets a line at the start, one for each failure of a step, an error if it is final, and warnings for operators.
   * Defaults to the standard error, by the console.
   */
  logger?: Logger;
  /** The start and the failures of steps are not logged. The server has them anyway. */
  quiet?: boolean;
}

/** The options of a worker, with their defaults. */
export interface Settings {
  name: string;
  namespaces: readonly string[];
  capabilities: readonly string[];
  concurrency: number;
  shutdownTimeoutMs: number;
  pollWaitMs: number;
  heartbeatIntervalMs: number | undefined;
  logger: Logger;
  quiet: boolean;
}

/** Standard output belongs to the program. */
const stderr: Logger = { info: console.error, warn: console.error, error: console.error };

/**
 * Claims steps from a server and runs their handlers. It renews the leases of running steps, registers again when the
 * server has forgotten it, and tries again with growing pauses while no server answers. Handlers go on meanwhile, and
 * results are kept until a server takes them.
 */
export class Worker {
  readonly #client: Client;
  readonly #settings: Settings;
  readonly #handlers = new Map<string, Registered>();
  #stop: () => void = () => {};

  constructor(options: WorkerOptions = {}) {
    this.#client = options.client ?? new Client();
    this.#settings = {
      name: options.name ?? `${hostname()}-${process.pid}`,
      namespaces: options.namespaces ?? [],
      capabilities: options.capabilities ?? [],
      concurrency: options.concurrency ?? 10,
      shutdownTimeoutMs: Math.max(options.shutdownTimeoutMs ?? 30_000, 0),
      pollWaitMs: Math.max(options.pollWaitMs ?? 20_000, 0),
      heartbeatIntervalMs: options.heartbeatIntervalMs,
      logger: options.logger ?? stderr,
      quiet: options.quiet ?? false,
    };
    if (!(this.#settings.concurrency >= 1)) throw new RangeError("a worker needs at least one slot");
  }

  /** Register a handler. */
  handler<Context = unknown>(name: string, run: Handler<Context>, options: HandlerOptions = {}): this {
    const { backoff, concurrency, timeoutMs, maxAttempts } = options;
    for (const [what, value] of Object.entries({ concurrency, timeoutMs, maxAttempts })) {
      if (value !== undefined && !(value > 0)) throw new RangeError(`${what} of handler "${name}" must be positive`);
    }
    if (backoff && !(backoff.baseMs > 0 && backoff.limitMs >= backoff.baseMs)) {
      throw new RangeError(`backoff of handler "${name}": baseMs must be positive, limitMs not less`);
    }
    if (!name) throw new RangeError("a handler needs a name");
    if (this.#handlers.has(name)) throw new RangeError(`handler "${name}" is registered twice`);
    this.#handlers.set(name, { ...options, run });
    return this;
  }

  /**
   * Work until the process gets SIGTERM or SIGINT, `stop` is called, or an operator drains the worker. Then it takes no
   * more steps, lets running handlers finish within `shutdownTimeoutMs`, stops the others and gives their steps back
   * without a charged attempt. A second signal ends the patience.
   *
   * WorkerError: a handler did not return even then, or a result could not be reported. TaskerError: the server refuses
   * the worker.
   */
  async run(options: { handleSignals?: boolean } = {}): Promise<void> {
    const sessions = this.#groups().map(
      ([name, handlers, slots]) => new Session(this.#client.transport, this.#settings, name, handlers, slots),
    );
    let stops = 0;
    this.#stop = () => {
      stops++;
      for (const s of sessions) s.stop(stops > 1);
    };
    const onSignal = () => this.stop();
    const signals: NodeJS.Signals[] = (options.handleSignals ?? true) ? ["SIGTERM", "SIGINT"] : [];
    for (const s of signals) process.on(s, onSignal);
    try {
      const ends = await Promise.allSettled(
        sessions.map((session) =>
          session.run().catch((error: unknown) => {
            for (const s of sessions) s.stop();
            throw error;
          }),
        ),
      );
      const errors = ends.flatMap((e) => (e.status === "rejected" ? [e.reason as unknown] : []));
      if (errors.length > 1 && errors.every((e) => e instanceof WorkerError)) {
        throw new WorkerError(errors.map((e) => e.message).join("; "));
      }
      if (errors.length > 0) throw errors[0];
    } finally {
      for (const s of signals) process.off(s, onSignal);
      this.#stop = () => {};
    }
  }

  /** Tell a running worker to stop, as SIGTERM does. */
  stop(): void {
    this.#stop();
  }

  /** The registrations: one for each handler with slots of its own, and one for all others. */
  #groups(): Array<[string, Map<string, Registered>, number]> {
    if (this.#handlers.size === 0) throw new RangeError("the worker has no handlers");
    const shared = new Map([...this.#handlers].filter(([, h]) => h.concurrency === undefined));
    const groups: Array<[string, Map<string, Registered>, number]> = [];
    if (shared.size > 0) groups.push([this.#settings.name, shared, this.#settings.concurrency]);
    for (const [name, handler] of this.#handlers) {
      if (handler.concurrency !== undefined) {
        groups.push([`${this.#settings.name}/${name}`, new Map([[name, handler]]), handler.concurrency]);
      }
    }
    return groups;
  }
}
