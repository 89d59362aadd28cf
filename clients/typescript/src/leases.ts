/** The leases that a worker holds: when they end, and when a step has to stop because of that. */

import { StepInterrupted, TaskerError } from "./errors.js";
import type { Assignment, LeaseAnswer } from "./models.js";
import type { Step } from "./step.js";
import { at, now } from "./time.js";
import type { Logger } from "./worker.js";

/** How long a step without a timeout outlives its lease while no server answers. */
const longestSilence = 24 * 60 * 60 * 1000;

/** A step that this worker holds. Times are on the clock of now(), because the server's may differ. */
export class Job {
  /** When the attempt is over; undefined: never. */
  readonly due: number | undefined;
  /** `due`, until the handler has been told. */
  deadline: number | undefined;
  /** undefined: leases do not end. */
  leaseEnd: number | undefined;
  /** The handler has returned. */
  ended = false;
  /** Nothing more is reported. */
  dropped = false;
  /** The server has refused the result; a failure replaces it. */
  refused = false;
  /** Takes the timer back. */
  unwatch = () => {};
  readonly reference: { step_uuid: string; token: string };

  constructor(
    assignment: Assignment,
    readonly step: Step,
    readonly timeoutMs: number,
    leaseMs: number,
  ) {
    this.reference = { step_uuid: assignment.step_uuid, token: assignment.token };
    if (timeoutMs > 0) this.due = now() + timeoutMs;
    this.deadline = this.due;
    if (leaseMs > 0) this.leaseEnd = now() + leaseMs;
  }
}

/** The jobs of one registration. While no server answers, they go on beyond the end of their leases. */
export class Leases {
  readonly held = new Map<string, Job>();
  /** How long a lease lasts without renewal; 0: for ever. */
  length = 0;
  #spoken = now();
  #unanswered = false;
  #outliving = false;

  constructor(
    private readonly log: Logger,
    /** Called when a server answers again: a heartbeat and the results are urgent. */
    private readonly again: () => void,
  ) {}

  /** Take a job over. A step that comes a second time was lost unnoticed before. */
  add(job: Job): void {
    const old = this.held.get(job.step.stepUuid);
    if (old) {
      this.drop(old);
      old.step.interrupt(new StepInterrupted("lost"));
    }
    this.held.set(job.step.stepUuid, job);
  }

  /** Report nothing more about a job. Its handler keeps its slot until it returns. */
  drop(job: Job): void {
    job.dropped = true;
    this.release(job);
  }

  /** Forget a job that is settled. */
  release(job: Job): void {
    job.unwatch();
    if (this.held.get(job.step.stepUuid) === job) this.held.delete(job.step.stepUuid);
  }

  /**
   * Learn from a call about leases whether a server answers. Polls do not count: a server answers them while its database
   * is away. The first answer after a long silence begins a new lease for each job, because the server does the same. If
   * only this worker was cut off, its next heartbeat, sent at once, tells which leases are lost.
   */
  note(error?: unknown): void {
    const time = now();
    if (error instanceof TaskerError && error.code === "unavailable") {
      this.#unanswered = true;
      return;
    }
    const silent = time - this.#spoken;
    const again = this.#unanswered && silent >= this.length / 3; // otherwise the regular beat is early enough
    this.#spoken = time;
    this.#unanswered = this.#outliving = false;
    if (!again) return;
    this.again();
    if (silent < this.length / 2) return;
    for (const job of this.held.values()) {
      if (job.leaseEnd !== undefined && job.leaseEnd < time + this.length) this.#hold(job, time + this.length);
    }
  }

  /** Apply what the server says of leases. One that it does not mention is renewed from the time of the call. */
  renew(jobs: readonly Job[], answers: readonly LeaseAnswer[], sent: number): void {
    const gone = new Map(answers.filter((a) => a.status !== "held").map((a) => [a.step_uuid, a.status]));
    for (const job of jobs) {
      if (job.dropped) continue;
      const status = gone.get(job.step.stepUuid);
      if (status === undefined) {
        if (this.length > 0) this.#hold(job, sent + this.length);
      } else if (!job.ended) {
        // else the server has the result, or is about to refuse it
        this.drop(job);
        if (status !== "cancelled") this.log.warn(`lease of step ${job.step.stepUuid} was lost, stopping it`);
        job.step.interrupt(new StepInterrupted(status === "cancelled" ? "cancelled" : "lost"));
      }
    }
  }

  /**
   * When a job is given up unless its lease is renewed. While no server answers, perhaps no server takes the step away, so
   * the end of the lease is no reason to stop. The end of the attempt is one; a further lease is added for the report of
   * the timeout.
   */
  lostAt(job: Job): number | undefined {
    const end = job.leaseEnd;
    if (end === undefined || now() < end || !this.#silent()) return end;
    return job.due === undefined ? end + longestSilence : Math.max(job.due + this.length, end);
  }

  /** See to it that #expire runs when the deadline or the lease of a job ends. */
  watch(job: Job): void {
    job.unwatch();
    const end = Math.min(this.lostAt(job) ?? Infinity, job.deadline ?? Infinity);
    if (end !== Infinity && !job.ended) job.unwatch = at(end, () => this.#expire(job));
  }

  #hold(job: Job, end: number): void {
    job.leaseEnd = end;
    this.watch(job);
  }

  /** Whether no server has answered for so long that no lease could be renewed. */
  #silent(): boolean {
    return this.#unanswered && now() - this.#spoken >= this.length / 2;
  }

  #expire(job: Job): void {
    if (job.ended || job.dropped) return;
    const time = now();
    if (time >= (this.lostAt(job) ?? Infinity)) {
      this.drop(job);
      this.log.warn(`lease of step ${job.step.stepUuid} ran out, stopping it`);
      job.step.interrupt(new StepInterrupted("lost"));
      return;
    }
    if (time >= (job.leaseEnd ?? Infinity) && !this.#outliving) {
      this.#outliving = true; // once for all jobs
      this.log.warn("no server answers, steps go on past the end of their leases");
    }
    if (time >= (job.deadline ?? Infinity)) {
      job.deadline = undefined; // once
      job.step.interrupt(new StepInterrupted("timeout"));
    }
    this.watch(job);
  }
}
