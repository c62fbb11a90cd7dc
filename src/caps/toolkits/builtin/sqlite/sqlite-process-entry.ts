// The process around a query: it listens while the thread is lost in SQLite, and goes when the host goes.
import { Worker } from "node:worker_threads";
import { threadEntry } from "../../../../machinery/threads/thread-entry.ts";

const thread = new Worker(threadEntry("sqlite-query-thread", import.meta.url));

// Not exit: it would wait for a query that may never end.
const die = () => process.kill(process.pid, "SIGKILL");

process.on("message", (job) => thread.postMessage(job));
process.on("disconnect", die);
thread.on("message", (answer) => process.send?.(answer));
thread.on("error", die);
