// The main thread of a query process: it can receive messages while the query thread is busy in SQLite, and it exits
// with the host.
import { Worker } from "node:worker_threads";
import { threadEntry } from "../../../../machinery/threads/thread-entry.ts";

const thread = new Worker(threadEntry("sqlite-query-thread", import.meta.url));

// SIGKILL and not exit(), which would wait for a query that may never end.
const die = () => process.kill(process.pid, "SIGKILL");

process.on("message", (job) => thread.postMessage(job));
process.on("disconnect", die);
thread.on("message", (answer) => process.send?.(answer));
thread.on("error", die);
