/** Pauses and wake-ups. */

/** Longer times than this are no time at all to a timer. */
const longest = 2 ** 31 - 1;

/** A wake-up that is kept until it is cleared. */
export class Wake {
  #set = false;
  #waiters = new Set<() => void>();

  get isSet(): boolean {
    return this.#set;
  }

  set(): void {
    this.#set = true;
    for (const wake of this.#waiters) wake();
  }

  clear(): void {
    this.#set = false;
  }

  /** Wait until it is set, or some time is over. Without a time, nothing keeps the process alive that waits in vain. */
  async wait(ms = Infinity): Promise<void> {
    if (this.#set || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = ms === Infinity ? undefined : setTimeout(done, Math.min(ms, longest));
      this.#waiters.add(done);
    });
  }
}

/** Call a function at a time, on the clock of now(). The result takes it back. */
export function at(time: number, act: () => void): () => void {
  const timer = setTimeout(act, Math.min(Math.max(time - now(), 0) + 1, longest));
  return () => clearTimeout(timer);
}

/** Milliseconds on a clock that nobody sets. */
export function now(): number {
  return performance.now();
}

/** How long to wait after so many failures in a row: from a tenth of a second to 15 s, half of it at random. */
export function pause(failures: number): number {
  const bound = Math.min(100 * 2 ** Math.min(Math.max(failures - 1, 0), 10), 15_000);
  return bound / 2 + Math.random() * bound;
}
