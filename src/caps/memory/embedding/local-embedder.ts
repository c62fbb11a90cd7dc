// A sentence encoder that runs in this process, in a thread of its own: a text takes tens of milliseconds, for which the
// host's only thread must not stand still. Its packages are loaded in that thread, and only where it is configured.
import type { Logger } from "../../../host/logger.ts";
import { siblingModule } from "../../../machinery/threads/thread-entry.ts";
import { WorkerPool } from "../../../machinery/threads/worker-pool.ts";
import type { Embedder } from "../embedder.ts";

export interface LocalEmbedderOptions {
  log?: Logger;
  /** Module whose `embedTexts` does the work, and what it gives. */
  worker?: { module: string; name: string };
}

/** The Universal Sentence Encoder, for English. Rejects where its packages are not installed. */
export async function createLocalEmbedder({ log, worker }: LocalEmbedderOptions = {}): Promise<Embedder> {
  const module = worker?.module ?? siblingModule("local-embedder-worker", import.meta.url);
  const pool = new WorkerPool({
    // One: the model is loaded once per thread, and stays for as long as the thread.
    size: 1,
    idleMs: 10 * 60_000,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
    ...(log === undefined ? {} : { log }),
  });
  const embedder: Embedder = {
    name: worker?.name ?? "universal-sentence-encoder-lite-en-0.2",
    // Without its signal: a job that is broken off takes the thread with it, and the model would be loaded again.
    async embed(texts) {
      const job = { module, exportName: "embedTexts", args: [...texts] };
      return (await pool.run(job)) as Float32Array[];
    },
    close: () => pool.close(),
  };
  try {
    // A host that cannot embed should say so when it starts, not to its first agent.
    await embedder.embed(["ready"]);
    return embedder;
  } catch (error) {
    await pool.close();
    throw error;
  }
}
