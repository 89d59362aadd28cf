/** One registration of a worker at a server, from its first call to its last. */

import { hostname } from "node:os";

import { StepInterrupted, TaskerError, WorkerError } from "./errors.js";
import { completed, failed, refusal, type Outcome } from "./failure.js";
import type { CallOptions, Transport } from "./http.js";
import { Job, Leases } from "./leases.js";
import { failedLine, overlong, started } from "./log.js";
import type {
  Assignment,
  HeartbeatResponse,
  LeaseAnswer,
  PollResponse,
  RegisteredWorker,
  SettleAnswer,
  StepResult,
} from "./models.js";
import { Step } from "./step.js";
import { now, pause, Wake } from "./time.js";
import { version } from "./version.js";
import type { Handler, HandlerOptions, Settings } from "./worker.js";

/** Steps of one poll, and results of one report. */
const maxFetch = 1000;
const maxResults = 500;
const maxResultBytes = 2 << 20;
/** What a stopping worker waits for after its shutdown time: handlers, the last results at least, and the last call. */
const stopGrace = 5_000;
const settleGrace = 10_000;
const drainGrace = 5_000;
/** The report of a checkpoint after the handler was told to stop. */
const checkpointTimeout = 10_000;

/** A handler with its options. */
export interface Registered extends HandlerOptions {
  run: Handler;
}

/** A time in which polls fail. The loop whose poll failed first tries again; the others wait until it is over. */
class Outage {
  failures = 0;
  readonly over = new Wake();
}

type Entry = [Job, StepResult];

export class Session {
  #self!: RegisteredWorker;
  #enrolling: Promise<void> | undefined;
  readonly #leases: Leases;
  readonly #stopping = new Wake();
  readonly #hurry = new Wake();
  readonly #fetchWake = new Wake();
  readonly #settleWake = new Wake();
  readonly #settleAgain = new Wake();
  readonly #beatWake = new Wake();
  readonly #progressed = new Wake(); // for the end
  /** Ends polls and the first registration. */
  readonly #intake = new AbortController();
  /** Ends everything. */
  readonly #life = new AbortController();
  #outage: Outage | undefined;
  #limit = maxFetch;
  #running = 0;
  #asked = 0;
  #done: Entry[] = [];
  #settling = 0;
  #draining = false;
  #unreported = 0;
  #broken: unknown;

  constructor(
    private readonly transport: Transport,
    private readonly settings: Settings,
    private readonly name: string,
    private readonly handlers: ReadonlyMap<string, Registered>,
    private readonly concurrency: number,
  ) {
    this.#leases = new Leases(settings.logger, () => {
      this.#beatWake.set();
      this.#settleAgain.set();
    });
  }

  // ----- life

  /** Take no more steps; hurry: do not wait for handlers either. */
  stop(hurry = false): void {
    this.#stopping.set();
    this.#fetchWake.set();
    this.#intake.abort();
    if (hurry) {
      this.#hurry.set();
      this.#progressed.set();
    }
  }

  /** Work until `stop` and the end that follows it. */
  async run(): Promise<void> {
    if (!(await this.#register(this.#intake.signal))) return;
    this.#announce();
    const broken = (error: unknown) => {
      // Without heartbeats and reports nothing makes sense: a mistake in them ends the worker.
      this.#broken ??= error;
      this.stop(true);
    };
    const parts = [this.#settleLoop().catch(broken), this.#beatLoop().catch(broken)];
    try {
      await Promise.all(Array.from({ length: this.#loops }, () => this.#fetchLoop()));
      await this.#drain();
      if (this.#broken !== undefined) throw this.#broken;
    } finally {
      this.#life.abort();
      this.#beatWake.set();
      this.#settleWake.set();
      this.#settleAgain.set();
      await Promise.all(parts);
    }
  }

  #announce(): void {
    const { logger, namespaces, quiet } = this.settings;
    const handlers = [...this.handlers.keys()].sort();
    if (!quiet) {
      logger.info(started(this.#self, this.name, this.transport.base, namespaces, handlers, this.concurrency));
    }
    for (const [name, { timeoutMs }] of this.handlers) {
      const warning = overlong(this.#self, name, timeoutMs);
      if (warning !== undefined) logger.warn(warning);
    }
  }

  /** Register. It tries again while no server answers, until the signal; a refusal is an error. */
  async #register(signal: AbortSignal): Promise<boolean> {
    const body = {
      name: this.name,
      namespaces: this.settings.namespaces,
      handlers: [...this.handlers.keys()].sort(),
      capabilities: this.settings.capabilities,
      capacity: this.concurrency,
      host: hostname(),
      version: `typescript ${version}`,
    };
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        this.#self = await this.#call<RegisteredWorker>("/internal/workers/register", { body, signal });
        this.#leases.length = this.#self.lease_seconds * 1000;
        this.#leases.note();
        return true;
      } catch (error) {
        if (!comesBack(error)) throw error;
        if (signal.aborted) break;
        this.settings.logger.warn(`worker ${this.name} cannot register: ${String(error)}`);
        await this.#sleep(delay(failures, error), signal === this.#intake.signal ? this.#stopping : undefined);
      }
    }
    return false;
  }

  /** The server does not know the worker any more. Who notices first registers for all. */
  async #registerAgain(old: string): Promise<void> {
    if (this.#self.worker_id !== old) return;
    this.#enrolling ??= (async () => {
      this.settings.logger.warn(`server does not know worker ${this.name} any more, registering again`);
      try {
        await this.#register(this.#life.signal);
      } catch (error) {
        // The next try of the caller fails too, and leads here again after a pause.
        this.settings.logger.error(`server refuses worker ${this.name}: ${String(error)}`);
      } finally {
        this.#enrolling = undefined;
      }
    })();
    await this.#enrolling;
  }

  /** End: wait for handlers, stop them, abandon them; then see that the results arrive, and say good-bye. */
  async #drain(): Promise<void> {
    const end = now() + this.settings.shutdownTimeoutMs;
    this.#draining = true;
    this.#settleAgain.set(); // the pause may exceed the time that is left
    const noneRunning = () => this.#running === 0;
    const running = () => [...this.#leases.held.values()].filter((job) => !job.ended);
    let left = 0;
    if (!(await this.#await(this.settings.shutdownTimeoutMs, noneRunning, this.#hurry))) {
      for (const job of running()) job.step.interrupt(new StepInterrupted("draining"));
      if (!(await this.#await(stopGrace, noneRunning))) {
        left = this.#running;
        for (const job of running()) this.#leases.drop(job);
      }
    }
    const patience = Math.max(settleGrace, end - now());
    const settled = await this.#await(patience, () => this.#done.length === 0 && this.#settling === 0);
    try {
      // The server gives what this worker still holds to others.
      await this.#call(this.#path("drain"), { body: { final: true }, timeoutMs: drainGrace });
    } catch (error) {
      // Not worth an error: without it the leases expire.
      this.settings.logger.warn(`worker ${this.name} could not say good-bye: ${String(error)}`);
    }
    if (left > 0) throw new WorkerError(`worker ${this.name}: ${left} handlers did not return`);
    if (!settled || this.#unreported > 0) {
      throw new WorkerError(`worker ${this.name}: some results could not be reported`);
    }
  }

  async #await(ms: number, done: () => boolean, enough?: Wake): Promise<boolean> {
    for (const end = now() + ms; !done(); ) {
      if (now() >= end || enough?.isSet) return false;
      await this.#progressed.wait(end - now());
      this.#progressed.clear();
    }
    return true;
  }

  // ----- fetch

  /** Polls that stay outstanding: while the answer to one is on its way, another waits at the server. */
  get #loops(): number {
    return Math.min(2, this.concurrency);
  }

  async #fetchLoop(): Promise<void> {
    let mine: Outage | undefined;
    let early = 0; // polls in a row that returned nothing before their time
    for (let room; (room = await this.#awaitRoom(mine)) > 0; ) {
      const me = this.#self;
      const bound = me.max_long_poll_seconds * 1000;
      const wait = bound > 0 ? Math.min(this.settings.pollWaitMs, bound) : this.settings.pollWaitMs;
      const begun = now();
      let answer: PollResponse;
      try {
        answer = await this.#poll(me.worker_id, room, wait);
      } catch (error) {
        if (this.#stopping.isSet) return;
        mine = await this.#pollFailed(error, me.worker_id, mine, room);
        continue;
      }
      if (mine) {
        mine.over.set();
        this.#outage = mine = undefined;
      }
      if (answer.should_drain) {
        this.settings.logger.info(`server asks worker ${this.name} to drain`);
        this.stop();
        return;
      }
      if (answer.steps.length > 0 || now() - begun >= wait / 2) {
        early = 0;
        continue;
      }
      // A server that does not hold polls must not be polled in a tight loop.
      early++;
      await this.#stopping.wait(Math.min(2 ** Math.min(early, 12), me.poll_interval_ms || 1000) * this.#loops);
    }
  }

  /** Wait until a poll makes sense, and return for how many steps; 0: there are no more polls. */
  async #awaitRoom(mine: Outage | undefined): Promise<number> {
    const share = Math.ceil(this.concurrency / this.#loops);
    while (!this.#stopping.isSet) {
      if (this.#outage && this.#outage !== mine) {
        await Promise.race([this.#outage.over.wait(), this.#stopping.wait()]);
        continue;
      }
      const room = Math.min(this.#room(), share, this.#limit);
      if (room > 0) {
        this.#asked += room;
        return room;
      }
      this.#fetchWake.clear();
      await this.#fetchWake.wait();
    }
    return 0;
  }

  #room(): number {
    const free = this.concurrency - this.#running - this.#asked;
    const unreported = this.#done.length + this.#settling;
    if (unreported >= 2 * this.concurrency) return 0; // results that the server does not take stop the intake
    if (unreported > 0 && 4 * free < this.concurrency) return 0; // more slots are about to become free
    return Math.max(free, 0);
  }

  async #poll(workerId: string, room: number, wait: number): Promise<PollResponse> {
    try {
      const answer = await this.#call<PollResponse>(`/internal/workers/${workerId}/poll`, {
        body: { capacity: room, wait_ms: Math.floor(wait), start: true },
        timeoutMs: this.transport.timeoutMs + wait,
        signal: this.#intake.signal,
      });
      this.#accept(answer.steps);
      return answer;
    } finally {
      this.#asked -= room;
      this.#fetchWake.set();
    }
  }

  /** Wait after a failed poll. A worker that runs outlives even a refusal: an operator may mend the key. */
  async #pollFailed(error: unknown, me: string, mine: Outage | undefined, room: number): Promise<Outage | undefined> {
    const code = codeOf(error);
    if (code === "too_large") this.#limit = Math.max(Math.min(this.#limit, Math.floor(room / 4)), 1);
    if (!this.#outage) this.#outage = mine = new Outage();
    if (!mine) return undefined;
    mine.failures++;
    if (code === "not_found") {
      await Promise.race([this.#registerAgain(me), this.#stopping.wait()]);
      if (mine.failures === 1) return mine; // try the new ID at once
    } else {
      this.settings.logger.warn(`worker ${this.name} cannot poll: ${String(error)}`);
    }
    await this.#stopping.wait(delay(mine.failures, error));
    return mine;
  }

  // ----- steps

  /** Run steps, or give them back if they arrive after the end of the intake. */
  #accept(assignments: readonly Assignment[]): void {
    for (const assignment of assignments) {
      const handler = this.handlers.get(assignment.handler);
      let timeoutMs = assignment.timeout_seconds * 1000;
      if (handler?.timeoutMs !== undefined) {
        timeoutMs = timeoutMs > 0 ? Math.min(timeoutMs, handler.timeoutMs) : handler.timeoutMs;
      }
      const step = new Step(assignment, (s, report) => this.#report(s, report), this.#self.max_log_bytes);
      const job = new Job(assignment, step, timeoutMs, this.#leases.length);
      this.#leases.add(job);
      if (this.#stopping.isSet) {
        this.#end(job, { status: "released" });
        continue;
      }
      this.#running++;
      this.#leases.watch(job);
      void this.#execute(job, handler);
    }
  }

  /** Run one step. Whatever its handler does, its slot becomes free when it returns. */
  async #execute(job: Job, handler: Registered | undefined): Promise<void> {
    const outcome = await this.#outcome(job, handler);
    this.#running--;
    this.#fetchWake.set();
    this.#end(job, { ...outcome, ...job.step.logged });
  }

  async #outcome(job: Job, handler: Registered | undefined): Promise<Outcome> {
    const { step } = job;
    if (!handler) {
      const message = `the worker has no handler "${step.assignment.handler}"`;
      return { status: "failed", error: { error_type: "unknown_handler", message } };
    }
    try {
      return completed(await handler.run(step), this.#self.max_payload_bytes);
    } catch (error) {
      return failed(error, step.interruption, step.attempt, handler, job.timeoutMs);
    }
  }

  /** Hand the outcome of a job over to the reports. */
  #end(job: Job, outcome: Outcome): void {
    job.ended = true;
    job.unwatch();
    if (!job.dropped) {
      this.#done.push([job, { ...job.reference, ...outcome }]);
      this.#settleWake.set();
    }
    this.#progressed.set();
  }

  /** Send what a handler reports before its end. It renews the lease. */
  async #report(step: Step, report: Record<string, unknown>): Promise<void> {
    let { timeoutMs } = this.transport;
    const cause = step.interruption;
    if (cause) {
      // A checkpoint can be stored while the handler cleans up.
      const cleaning = cause.reason === "timeout" || cause.reason === "draining";
      if (!cleaning || !("checkpoint" in report)) throw cause;
      timeoutMs = Math.min(timeoutMs, checkpointTimeout);
    }
    const job = this.#leases.held.get(step.stepUuid);
    if (job?.step !== step) throw new StepInterrupted("lost");
    const sent = now();
    const body = { ...job.reference, ...report };
    const answer = await this.#call<LeaseAnswer>(this.#path("progress"), { body, timeoutMs });
    this.#leases.note();
    this.#leases.renew([job], [answer], sent);
    if (answer.status !== "held") throw new StepInterrupted(answer.status);
  }

  // ----- heartbeats

  async #beatLoop(): Promise<void> {
    while (!this.#life.signal.aborted) {
      const interval = this.#beatInterval;
      const due = now() + interval;
      await this.#beatWake.wait(interval);
      this.#beatWake.clear();
      if (now() - due > Math.max(interval / 2, 1000)) {
        this.settings.logger.warn(`the event loop stood still for ${Math.round(now() - due)} ms: a handler blocks it`);
      }
      for (let failures = 1; failures <= 4 && !this.#life.signal.aborted; failures++) {
        try {
          await this.#beat();
          break;
        } catch (error) {
          if (!(error instanceof TaskerError)) throw error;
          if (this.#life.signal.aborted) return;
          this.settings.logger.warn(`heartbeat of worker ${this.name}: ${String(error)}`);
          await this.#sleep(delay(failures, error)); // before the next regular one: leases are running out
        }
      }
    }
  }

  /** Two beats may fail within a lease. */
  get #beatInterval(): number {
    const interval = this.settings.heartbeatIntervalMs ?? (this.#self.heartbeat_interval_ms || 30_000);
    return this.#leases.length > 0 ? Math.min(interval, this.#leases.length / 3) : interval;
  }

  /** Send a heartbeat. It names every lease: one whose step never arrived must not be renewed. */
  async #beat(): Promise<void> {
    const jobs = [...this.#leases.held.values()];
    const me = this.#self.worker_id;
    const body = {
      current_load: this.#running,
      status: this.#draining ? "draining" : "active",
      steps: jobs.map((job) => job.reference),
    };
    const sent = now();
    let answer: HeartbeatResponse;
    try {
      const options = { body, timeoutMs: this.#beatInterval, signal: this.#life.signal };
      answer = await this.#call<HeartbeatResponse>(`/internal/workers/${me}/heartbeat`, options);
    } catch (error) {
      this.#leases.note(error);
      if (codeOf(error) !== "not_found") throw error;
      await this.#registerAgain(me);
      return; // the next one has the new ID
    }
    this.#leases.note();
    this.#leases.renew(jobs, answer.leases ?? [], sent);
    if (answer.should_drain) this.stop();
  }

  // ----- results

  async #settleLoop(): Promise<void> {
    while (!this.#life.signal.aborted) {
      const batch = this.#take();
      if (batch.length === 0) {
        this.#settleWake.clear();
        await this.#settleWake.wait();
        continue;
      }
      this.#settling = batch.length;
      await this.#settle(batch);
      this.#settling = 0;
      for (const [job] of batch) this.#leases.release(job);
      this.#fetchWake.set();
      this.#progressed.set();
    }
  }

  /** The next results to report. */
  #take(): Entry[] {
    let n = 0;
    for (let size = 0; n < Math.min(this.#done.length, maxResults) && size < maxResultBytes; n++) {
      size += JSON.stringify(this.#done[n]![1]).length;
    }
    return this.#done.splice(0, n);
  }

  /** Report results until each is accepted, refused for good, or beyond its lease. */
  async #settle(batch: Entry[]): Promise<void> {
    for (let failures = 0; (batch = this.#reportable(batch)).length > 0 && !this.#life.signal.aborted; ) {
      const me = this.#self.worker_id;
      let wait: unknown;
      try {
        const options = { body: { results: batch.map(([, result]) => result) }, signal: this.#life.signal };
        const answer = await this.#call<{ results: SettleAnswer[] }>(`/internal/workers/${me}/result`, options);
        this.#leases.note();
        [batch, wait] = this.#evaluate(batch, answer.results);
        if (wait === undefined) continue; // what is left was changed, and can be sent at once
      } catch (error) {
        if (!(error instanceof TaskerError)) throw error;
        if (!this.#life.signal.aborted) this.#leases.note(error);
        wait = error;
        if (error.code === "invalid" || error.code === "too_large") {
          if (batch.length === 1) {
            batch = this.#refused(batch[0]!, error.message);
          } else {
            const half = Math.floor(batch.length / 2);
            await this.#settle(batch.slice(0, half));
            batch = batch.slice(half);
          }
          continue;
        }
        if (error.code === "not_found") await this.#registerAgain(me);
      }
      if (this.#life.signal.aborted) return;
      failures++;
      this.settings.logger.warn(`worker ${this.name} cannot report ${batch.length} results: ${String(wait)}`);
      // Little time is left to a worker that stops.
      await this.#settleAgain.wait(delay(this.#draining ? Math.min(failures, 4) : failures, wait));
      this.#settleAgain.clear();
    }
  }

  /** Drop what no server would take. One lease after the end of a lease, another worker has the step. */
  #reportable(batch: readonly Entry[]): Entry[] {
    return batch.filter(([job]) => {
      if (job.dropped) return false;
      const end = this.#leases.lostAt(job);
      if (end === undefined || now() <= end + this.#leases.length) return true;
      this.#giveUp(job, "its lease was lost");
      return false;
    });
  }

  /** What is to be sent again, and the error to wait out first, if any. */
  #evaluate(batch: readonly Entry[], answers: readonly SettleAnswer[]): [Entry[], unknown] {
    const again: Entry[] = [];
    let wait: unknown;
    batch.forEach((entry, i) => {
      const error = answers[i]?.error;
      switch (error?.code) {
        case undefined:
          this.#tell(entry, answers[i]);
          break;
        case "invalid":
        case "too_large":
          again.push(...this.#refused(entry, error!.message));
          break;
        case "unavailable":
        case "exhausted":
        case "internal":
          again.push(entry);
          wait = new TaskerError("unavailable", error!.message, {
            retryAfterMs: (error!.retry_after_seconds ?? 0) * 1000,
          });
          break;
        default:
          // The lease was lost or the task cancelled meanwhile: the step is no longer this worker's.
          this.settings.logger.info(`result of step ${entry[0].step.stepUuid} was not taken: ${error!.message}`);
      }
    });
    return [again, wait];
  }

  /** Log a failure that the server has taken, and what follows. */
  #tell([job, result]: Entry, answer: SettleAnswer | undefined): void {
    const { logger, quiet } = this.settings;
    if (quiet || result.status !== "failed" || !result.error || !answer) return;
    const line = failedLine(job.step.assignment, result.error, answer);
    if (answer.state === "error") logger.error(line);
    else logger.warn(line);
  }

  /** Replace a result that the server will never take: the step must not run again to the same end. */
  #refused([job]: Entry, why: string): Entry[] {
    if (job.refused) {
      this.#giveUp(job, why);
      return [];
    }
    job.refused = true;
    return [[job, { ...job.reference, ...refusal("result_refused", why) }]];
  }

  #giveUp(job: Job, why: string): void {
    this.settings.logger.error(`result of step ${job.step.stepUuid} could not be reported: ${why}`);
    if (this.#draining) this.#unreported++;
  }

  // ----- calls

  #path(verb: string): string {
    return `/internal/workers/${this.#self.worker_id}/${verb}`;
  }

  async #call<T = unknown>(path: string, options: CallOptions): Promise<T> {
    return (await this.transport.call("POST", path, options)) as T;
  }

  /** Pause, but not beyond the end, nor a wake-up. */
  async #sleep(ms: number, wake?: Wake): Promise<void> {
    const own = wake ?? new Wake();
    const end = () => own.set();
    if (!wake) this.#life.signal.addEventListener("abort", end, { once: true });
    if (!this.#life.signal.aborted) await own.wait(ms);
    this.#life.signal.removeEventListener("abort", end);
  }
}

function codeOf(error: unknown): string {
  return error instanceof TaskerError ? error.code : "";
}

/** Whether a call may succeed later without an operator. */
function comesBack(error: unknown): boolean {
  return ["unavailable", "exhausted", "internal"].includes(codeOf(error));
}

function delay(failures: number, error: unknown): number {
  const advised = error instanceof TaskerError ? Math.min(error.retryAfterMs, 60_000) : 0;
  return Math.max(pause(failures), advised);
}
