// An agent's lines on their way to the host: in order, as many as fit into a POST, and a single POST at a time.

import { oncePerTurn } from "../turn.ts";
import { checkRoom } from "../waiting-lines.ts";
import type { HttpAnswer } from "./http-io.ts";

export interface HttpPosts {
  /** Throws if too much waits to be sent already. */
  add(line: string): void;
  /** Resolves when all lines were taken or dropped. */
  whenIdle(): Promise<void>;
  /** Drops the lines that wait to be sent. */
  clear(): void;
}

interface PostsPort {
  /** Sends a body; calls back once, never from within the call. */
  post(body: string, done: (error: Error | undefined, answer?: HttpAnswer) => void): void;
  /** The host took a body. */
  taken(): void;
  /** There was no answer, or the host is busy (429, 503 and the like): call `again` later. */
  failed(reason: Error, again: () => void): void;
  /** The host rejected the lines, and a retry would not help. */
  refused(answer: HttpAnswer): void;
}

/** Lines of a POST, unless a single line is longer: well below the default limit of a host for a body. */
const maxPostLength = 1024 * 1024;

export function createHttpPosts(port: PostsPort): HttpPosts {
  let waiting: string[] = [];
  let waitingLength = 0;
  let batchLength = maxPostLength;
  let isPosting = false;
  const idleListeners: (() => void)[] = [];
  const flushSoon = oncePerTurn(flush);

  return {
    add(line) {
      checkRoom(waitingLength, line);
      waiting.push(line);
      waitingLength += line.length;
      if (!isPosting) flushSoon();
    },
    whenIdle() {
      flush();
      return isPosting ? new Promise((resolve) => idleListeners.push(resolve)) : Promise.resolve();
    },
    clear() {
      waiting = [];
      waitingLength = 0;
      settle();
    },
  };

  function flush(): void {
    if (isPosting || waiting.length === 0) return;
    isPosting = true;
    send(takeBatch());
  }

  function takeBatch(): string[] {
    let length = 0;
    let count = 0;
    for (const line of waiting) {
      if (count > 0 && length + line.length > batchLength) break;
      length += line.length;
      count += 1;
    }
    const batch = count === waiting.length ? waiting : waiting.slice(0, count);
    waiting = count === waiting.length ? [] : waiting.slice(count);
    waitingLength -= length;
    return batch;
  }

  function send(batch: string[]): void {
    port.post(batch.length === 1 ? (batch[0] as string) : batch.join("\n"), (error, answer) => {
      if (answer === undefined || isTemporary(answer.status))
        return port.failed(error ?? new Error(describeAnswer(answer)), () => send(batch));
      if (answer.status === 413) divide(batch);
      else if (answer.status >= 300) return port.refused(answer);
      port.taken();
      isPosting = false;
      if (waiting.length > 0) flushSoon();
      else settle();
    });
  }

  /**
   * Halves the batch for a host with a smaller body limit. A single line that is too long stays rejected: the host
   * reports it to the session.
   */
  function divide(batch: string[]): void {
    if (batch.length === 1) return;
    const length = batch.reduce((sum, line) => sum + line.length, 0);
    batchLength = Math.ceil(length / 2);
    waiting = [...batch, ...waiting];
    waitingLength += length;
  }

  function settle(): void {
    for (const resolve of idleListeners.splice(0)) resolve();
  }
}

/** Worth another attempt. */
export function isTemporary(status: number): boolean {
  return (status >= 300 && status < 400) || status >= 500 || status === 408 || status === 425 || status === 429;
}

const maxShownLength = 200;

/**
 * Describes an answer in one line. A host explains an error in JSON; a server that answers with a web page is not a
 * host.
 */
export function describeAnswer(answer: HttpAnswer | undefined): string {
  if (answer === undefined) return "nothing";
  const { status, body } = answer;
  const text = /^\s*</.test(body) ? "and a web page; is that an A2E host?" : (readProblem(body) ?? body);
  return `${status} ${text}`.replace(/\s+/g, " ").slice(0, maxShownLength).trim();
}

function readProblem(body: string): string | undefined {
  try {
    const { error, hint } = JSON.parse(body) as { error?: unknown; hint?: unknown };
    if (typeof error !== "string") return undefined;
    return typeof hint === "string" ? `${error}: ${hint}` : error;
  } catch {
    return undefined;
  }
}
