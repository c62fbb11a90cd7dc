// Runs queries one after the other and answers each. The main thread stays free to receive messages.
import { parentPort } from "node:worker_threads";
import { messageOf } from "../../../../protocol/errors.ts";
import { type QueryJob, type QueryResult, runQuery } from "./sqlite-query.ts";

/** Sent when a query begins, and with its result. */
export type QueryMessage = { started: true } | QueryAnswer;
export type QueryAnswer = { result: QueryResult } | { error: string; isOutOfMemory: boolean };

const outOfMemory = 7; // SQLITE_NOMEM

parentPort?.on("message", (job: QueryJob) => {
  parentPort?.postMessage({ started: true } satisfies QueryMessage);
  let answer: QueryAnswer;
  try {
    answer = { result: runQuery(job) };
  } catch (error) {
    const message = messageOf(error);
    const code = (error as { errcode?: unknown }).errcode;
    const isOutOfMemory = code === outOfMemory || /out of memory/i.test(message);
    // SQLite includes the path of the file in some messages, which agents must not see.
    answer = { error: message.replaceAll(job.path, "the database"), isOutOfMemory };
  }
  parentPort?.postMessage(answer);
});
