// The port for models that turn texts into vectors.

export interface Embedder {
  /** Identifies the model: vectors of different models are never compared. */
  readonly name: string;
  /**
   * Returns one vector per text, in order. All vectors have the same length, and equal texts have equal vectors.
   * Rejects on failure.
   */
  embed(texts: readonly string[], options?: { signal?: AbortSignal }): Promise<Float32Array[]>;
  close?(): Promise<void> | void;
}
