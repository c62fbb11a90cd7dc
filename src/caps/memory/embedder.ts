// The port behind which texts become vectors.

export interface Embedder {
  /** Names the model: vectors of different models are never compared. */
  readonly name: string;
  /** One vector per text, all of one length, the same for the same text. Rejects where it cannot. */
  embed(texts: readonly string[], options?: { signal?: AbortSignal }): Promise<Float32Array[]>;
  close?(): Promise<void> | void;
}
