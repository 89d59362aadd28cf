// The worker: delivers webhooks. See README.md.
import { FinalError, RetryableError, Worker, type FailureOptions, type Step } from "tasker-client";

interface Delivery {
  receiver: string;
  url: string;
  event: Record<string, unknown>;
}

async function deliver(step: Step<Delivery>): Promise<{ status: number }> {
  const { url, event } = step.context;
  const response = await fetch(url, {
    method: "POST",
    // a receiver sees the same ID if it gets an event twice: delivery is at least once
    headers: { "Content-Type": "application/json", "Webhook-Id": step.taskUuid },
    body: JSON.stringify(event),
    signal: step.signal, // aborted when the attempt takes too long, or the task is cancelled
  });
  if (response.ok) return { status: response.status };

  const failure: FailureOptions = { httpStatus: response.status, responseBody: await response.text() };
  const message = `${new URL(url).host} answers ${response.status}`;
  if (response.status >= 500 || response.status === 429) {
    // without a Retry-After, the back-off of the template counts alone
    const seconds = Number(response.headers.get("Retry-After")) || 0;
    throw new RetryableError(message, { ...failure, retryAfterMs: seconds * 1000 });
  }
  throw new FinalError(message, { ...failure, code: "refused" });
}

const worker = new Worker({ concurrency: 20 });
worker.handler("webhook.deliver", deliver);
await worker.run();
