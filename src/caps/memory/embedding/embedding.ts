import type { CallContext } from "../../../plugin/call-context.ts";
import type { SessionContext } from "../../../plugin/plugin.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { Embedder } from "../embedder.ts";
import { memoryLimits } from "../limits.ts";
import { memory } from "../protocol.ts";
import { toUnitVector } from "./vector.ts";

/**
 * Embeds texts as unit vectors, a few per call: all sessions share one queue of the embedder. Stops if the call has
 * ended.
 */
export async function embedTexts(
  embedder: Embedder,
  texts: readonly string[],
  call: Pick<CallContext, "isEnded" | "signal">,
  outside: SessionContext["outside"],
): Promise<Float32Array[]> {
  const { maxEmbeddedLength, maxEmbeddedTexts } = memoryLimits;
  const vectors: Float32Array[] = [];
  while (vectors.length < texts.length) {
    const some = texts.slice(vectors.length, vectors.length + maxEmbeddedTexts);
    const shortened = some.map((text) => text.slice(0, maxEmbeddedLength));
    // The model is not part of the session and may be remote, so its vectors are recorded for a replay.
    const embedding = outside(async () => {
      const made = await embedder.embed(shortened, { signal: call.signal });
      return made.map((vector) => Array.from(vector));
    });
    const embedded = await embedding.catch((thrown: unknown) => {
      throw thrown instanceof A2EError ? thrown : failure(embedder, (thrown as Error | undefined)?.message, thrown);
    });
    // The call was answered with an error, so nothing may be stored for it.
    if (call.isEnded) call.signal.throwIfAborted();
    if (embedded.length !== some.length)
      throw failure(embedder, `it returned ${embedded.length} vectors for ${some.length} texts`);
    for (const vector of embedded) vectors.push(toUnitVector(Float32Array.from(vector)));
  }
  return vectors;
}

/** Retryable: the embedder may be available again soon. */
function failure({ name }: Embedder, why = "no error message", cause?: unknown): A2EError {
  return memory.error("runtime_error", `embedder "${name}" failed: ${why}`, { cause });
}
