import type { CallContext } from "../../../host/call-context.ts";
import type { SessionContext } from "../../../host/plugin.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { Embedder } from "../embedder.ts";
import { memoryLimits } from "../limits.ts";
import { memory } from "../protocol.ts";
import { toUnitVector } from "./vector.ts";

/** Unit vectors of texts, a few at a time: an embedder has one queue for all sessions. Ends where nobody waits any more. */
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
    // A model is no part of the session, and may be far away: a replay has its vectors.
    const embedding = outside(async () => {
      const made = await embedder.embed(shortened, { signal: call.signal });
      return made.map((vector) => Array.from(vector));
    });
    const embedded = await embedding.catch((thrown: unknown) => {
      throw thrown instanceof A2EError ? thrown : failure(embedder, (thrown as Error | undefined)?.message, thrown);
    });
    // What is written after its answer would surprise whoever was told that it is not.
    if (call.isEnded) call.signal.throwIfAborted();
    if (embedded.length !== some.length)
      throw failure(embedder, `it made ${embedded.length} vectors of ${some.length} texts`);
    for (const vector of embedded) vectors.push(toUnitVector(Float32Array.from(vector)));
  }
  return vectors;
}

/** It may be back in a moment: whoever asked can ask again. */
function failure({ name }: Embedder, why = "it did not say why", cause?: unknown): A2EError {
  return memory.error("runtime_error", `embedder "${name}" failed: ${why}`, { cause });
}
