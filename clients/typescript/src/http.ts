/** Exchanges with one server, by the fetch of the platform, which keeps connections. */

import { codes, TaskerError, type Code, type ErrorExtras } from "./errors.js";
import type { Detail } from "./models.js";
import { version } from "./version.js";

/** Values of a query; undefined is left out. */
export type Query = Record<string, string | number | boolean | Date | readonly string[] | undefined>;

/** How to reach a server. */
export interface ClientOptions {
  /** Defaults to the variable TASKER_SERVER, else to http://127.0.0.1:8080. */
  server?: string;
  /** Defaults to the variable TASKER_API_KEY. */
  apiKey?: string;
  /** Of one request, besides the wait of a long poll. Defaults to 30 s. */
  timeoutMs?: number;
  /** Of one answer. Defaults to 64 MiB. */
  maxResponseBytes?: number;
  /** Sends the requests. Defaults to that of the platform. */
  fetch?: typeof fetch;
}

/** One request. */
export interface CallOptions {
  query?: Query;
  /** Sent as JSON; a text with a contentType is sent as it is. */
  body?: unknown;
  contentType?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** The silence after which a stream counts as lost. The server sends a sign of life every 15 seconds. */
const longestSilence = 45_000;
const maxEvent = 1 << 20;

export class Transport {
  readonly base: string;
  readonly timeoutMs: number;
  readonly #limit: number;
  readonly #fetch: typeof fetch;
  readonly #headers: Record<string, string>;

  constructor(options: ClientOptions) {
    this.base = address(options.server ?? (process.env["TASKER_SERVER"] || "http://127.0.0.1:8080"));
    this.timeoutMs = options.timeoutMs ?? 30_000;
    this.#limit = options.maxResponseBytes ?? 64 << 20;
    this.#fetch = options.fetch ?? fetch;
    this.#headers = { Accept: "application/json", "User-Agent": `tasker-typescript/${version}` };
    const key = options.apiKey ?? process.env["TASKER_API_KEY"];
    if (key) this.#headers["X-API-Key"] = key;
  }

  /** Send a request and return the decoded answer. What reads is sent once more if a connection breaks. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<unknown> {
    const timeoutMs = options.timeoutMs ?? this.timeoutMs;
    const text = options.body === undefined ? undefined : bodyOf(method, path, options);
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error("no answer in time")), timeoutMs);
    const stop = () => abort.abort(options.signal?.reason);
    options.signal?.addEventListener("abort", stop, { once: true });
    if (options.signal?.aborted) stop();
    try {
      try {
        return await this.#exchange(method, path, options, text, abort.signal);
      } catch (error) {
        if (error instanceof TaskerError || method !== "GET" || abort.signal.aborted) throw error;
        return await this.#exchange(method, path, options, text, abort.signal);
      }
    } catch (error) {
      if (error instanceof TaskerError) throw error;
      const cause = abort.signal.aborted ? abort.signal.reason : error;
      throw new TaskerError("unavailable", `${method} ${this.base}${path}: ${reasonOf(cause)}`, {
        hint: "is the server running and reachable?",
        cause,
      });
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", stop);
    }
  }

  /** Receive server-sent events with their IDs, until the stream breaks. One without data is a sign of life. */
  async *events(
    path: string,
    options: { query?: Query; after?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<[id: string, data: unknown], void, undefined> {
    const abort = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const listen = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(new Error("the stream of events is silent")), ms);
    };
    const stop = () => abort.abort(options.signal?.reason);
    options.signal?.addEventListener("abort", stop, { once: true });
    if (options.signal?.aborted) stop();
    try {
      const headers: Record<string, string> = { ...this.#headers, Accept: "text/event-stream" };
      if (options.after) headers["Last-Event-ID"] = options.after;
      listen(this.timeoutMs);
      const url = this.base + path + queryOf(options.query);
      const response = await this.#fetch(url, { headers, signal: abort.signal, redirect: "manual" });
      if (!response.ok) throw problem(response, await this.#read(response));
      const kind = response.headers.get("Content-Type")?.split(";")[0];
      if (kind !== "text/event-stream") {
        throw new TaskerError("internal", `${this.base} answers with ${kind} instead of a stream of events`);
      }
      listen(longestSilence);
      yield* eventsOf(response.body, () => listen(longestSilence));
      throw new Error("the stream of events has ended");
    } catch (error) {
      if (error instanceof TaskerError) throw error;
      const cause = abort.signal.aborted ? abort.signal.reason : error;
      throw new TaskerError("unavailable", `GET ${this.base}${path}: ${reasonOf(cause)}`, {
        hint: "is the server running and reachable?",
        cause,
      });
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", stop);
      abort.abort();
    }
  }

  async #exchange(
    method: string,
    path: string,
    options: CallOptions,
    body: string | undefined,
    signal: AbortSignal,
  ): Promise<unknown> {
    const headers = { ...this.#headers };
    if (body !== undefined) headers["Content-Type"] = options.contentType ?? "application/json";
    const init: RequestInit = { method, headers, signal, redirect: "manual" };
    if (body !== undefined) init.body = body;
    const response = await this.#fetch(this.base + path + queryOf(options.query), init);
    const text = await this.#read(response);
    if (!response.ok) throw problem(response, text);
    const kind = response.headers.get("Content-Type")?.split(";")[0];
    try {
      if (kind !== "application/json") throw new Error(`it is ${kind}`);
      return JSON.parse(text);
    } catch (cause) {
      throw new TaskerError("internal", `${this.base} does not answer as a Tasker server does: ${reasonOf(cause)}`, {
        hint: "check the address, and that client and server have the same version",
        cause,
      });
    }
  }

  async #read(response: Response): Promise<string> {
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of response.body ?? []) {
      parts.push(part as Uint8Array);
      size += (part as Uint8Array).length;
      if (size > this.#limit) {
        throw new TaskerError("too_large", `the answer is longer than ${this.#limit} bytes`, {
          hint: "ask for a smaller page, or raise maxResponseBytes",
        });
      }
    }
    return Buffer.concat(parts).toString("utf8");
  }
}

/** Parse a stream of server-sent events. */
async function* eventsOf(
  body: Response["body"],
  alive: () => void,
): AsyncGenerator<[id: string, data: unknown], void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let id = "";
  let data = "";
  for await (const part of body ?? []) {
    alive();
    const lines = (rest + decoder.decode(part as Uint8Array, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length + data.length > maxEvent) throw new Error("an event is too long");
    for (const line of lines.map((l) => l.replace(/\r$/, ""))) {
      const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name === "id") id = value ?? "";
      else if (name === "data") data += value;
      else if (line === "") {
        yield [id, data === "" ? undefined : JSON.parse(data)];
        data = "";
      }
    }
  }
}

/** Check an address. Errors and logs repeat it, so it must hold no secret. */
function address(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new TaskerError("invalid", `server address "${text}" is not a URL`, { hint: "write it as http://host:port" });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TaskerError("invalid", `server address "${text}" is not a URL`, { hint: "write it as http://host:port" });
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new TaskerError("invalid", "server address has a user, a query or a fragment", {
      hint: "a key goes into apiKey",
    });
  }
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

/** The text of a body. One that has none is a mistake of the caller: nothing was sent. */
function bodyOf(method: string, path: string, options: CallOptions): string {
  if (typeof options.body === "string" && options.contentType !== undefined) return options.body;
  let text: string | undefined;
  try {
    text = JSON.stringify(options.body);
  } catch (cause) {
    throw new TypeError(`${method} ${path}: the body has no JSON form: ${reasonOf(cause)}`, { cause });
  }
  if (text === undefined) throw new TypeError(`${method} ${path}: a ${typeof options.body} has no JSON form`);
  return text;
}

function queryOf(query: Query | undefined): string {
  const pairs = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    if (Array.isArray(value)) value.forEach((v: string) => pairs.append(key, v));
    else pairs.append(key, value instanceof Date ? value.toISOString() : String(value));
  }
  const text = pairs.toString();
  return text && "?" + text;
}

/** The error of a problem document (RFC 9457), or of what something in front of the server answered. */
function problem(response: Response, text: string): TaskerError {
  let body: Record<string, unknown> = {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) body = value as Record<string, unknown>;
  } catch {
    // the status has to do
  }
  const code = body["code"];
  let message = String(body["detail"] || body["title"] || `the server answers ${response.status}`);
  const extras: ErrorExtras = { retryAfterMs: retryAfter(response.headers.get("Retry-After")) };
  if (typeof body["hint"] === "string") extras.hint = body["hint"];
  if (Array.isArray(body["errors"])) extras.details = body["errors"] as Detail[];
  if (response.status >= 300 && response.status <= 399) {
    message += ` to ${response.headers.get("Location")}`;
    extras.hint = "redirects are not followed; use the address it names";
  }
  const known = typeof code === "string" && codes.includes(code);
  return new TaskerError(known ? (code as Code) : codeOf(response.status), message, extras);
}

function codeOf(status: number): Code {
  const known: Record<number, Code> = {
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    410: "not_found",
    409: "conflict",
    413: "too_large",
    429: "exhausted",
    408: "unavailable",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
  };
  return known[status] ?? (status >= 400 && status <= 499 ? "invalid" : "internal");
}

/** Read the header Retry-After: seconds, or a date. */
function retryAfter(value: string | null): number {
  if (!value) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), 24 * 60 * 60 * 1000);
}

/** A sentence on what was thrown. fetch hides its reasons in causes. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message ? error.cause.message : error.message;
}

/** Join segments to a path. One that HTTP would resolve or drop is refused. */
export function pathOf(...segments: string[]): string {
  return segments
    .map((s) => {
      if (s === "" || s === "." || s === "..") throw new TaskerError("invalid", `"${s}" names nothing`);
      return "/" + encodeURIComponent(s);
    })
    .join("");
}
