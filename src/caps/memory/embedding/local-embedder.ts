// A sentence encoder that runs in a worker thread: a text takes tens of milliseconds, which would block the thread of
// the host. Its packages are loaded in that thread, and only if the local embedder is configured.

import { siblingModule } from "../../../machinery/threads/thread-entry.ts";
import { WorkerPool } from "../../../machinery/threads/worker-pool.ts";
import type { Logger } from "../../../plugin/logger.ts";
import type { Embedder } from "../embedder.ts";

export interface LocalEmbedderOptions {
  log?: Logger;
  /** The module whose `embedTexts` is called, and the name of its model. */
  worker?: { module: string; name: string };
}

/** The Universal Sentence Encoder, for English. Rejects if its packages are not installed. */
export async function createLocalEmbedder({ log, worker }: LocalEmbedderOptions = {}): Promise<Embedder> {
  const module = worker?.module ?? siblingModule("local-embedder-worker", import.meta.url);
  const pool = new WorkerPool({
    // One thread: each thread loads the model, and has it until the thread ends.
    size: 1,
    idleMs: 10 * 60_000,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
    ...(log === undefined ? {} : { log }),
  });
  const embedder: Embedder = {
    name: worker?.name ?? "universal-sentence-encoder-lite-en-0.2",
    // Without the signal: aborting a job ends the thread, and the model would be loaded again.
    async embed(texts) {
      const job = { module, exportName: "embedTexts", args: [...texts] };
      return (await pool.run(job)) as Float32Array[];
    },
    close: () => pool.close(),
  };
  try {
    // A host that cannot embed must fail at its start and not at the first request.
    await embedder.embed(["ready"]);
    return embedder;
  } catch (error) {
    await pool.close();
    throw error;
  }
}
