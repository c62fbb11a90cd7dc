// Sends checkpoints to witnesses (c2sp.org/tlog-witness). A witness cosigns a checkpoint only if it continues the last one
// that it saw, so a log that was rolled back or forked gets no cosignature.
import { toBase64 } from "../proofs/base64.ts";
import { parseCount } from "../proofs/checkpoint-text.ts";
import { parseNote } from "../proofs/note.ts";

export interface WitnessOptions {
  url: string;
  /** Shows that the log of `newer` entries continues the log of `older` entries. */
  proveConsistency(older: number, newer: number): readonly Uint8Array[];
  /** Replaces `fetch` in tests. */
  send?: typeof fetch;
  timeoutMs?: number;
}

export type WitnessAnswer =
  /** Lines to append to the note. The key of the witness is not known here, so they are not verified. */
  | { readonly kind: "cosigned"; readonly signatures: string }
  /** The witness has a newer checkpoint, or another one of the same size: the log was rolled back or forked. */
  | { readonly kind: "conflict"; readonly witnessed: number }
  | { readonly kind: "failed"; readonly reason: string };

const maxAnswerLength = 64 * 1024;

export class WitnessClient {
  readonly #options: WitnessOptions;
  /** The size of the last checkpoint that the witness has cosigned. */
  #known = 0;

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  /** Asks for a cosignature. Does not reject. One call at a time. */
  async cosign(note: string, size: number): Promise<WitnessAnswer> {
    try {
      const answer = await this.#post(note, size);
      // After a restart the known size is 0: the witness then names the one that it has.
      return answer.kind === "conflict" && this.#learn(answer.witnessed, size) ? await this.#post(note, size) : answer;
    } catch (error) {
      return { kind: "failed", reason: (error as Error).message };
    }
  }

  #learn(witnessed: number, size: number): boolean {
    if (witnessed === this.#known || witnessed > size) return false;
    this.#known = witnessed;
    return true;
  }

  async #post(note: string, size: number): Promise<WitnessAnswer> {
    const { url, proveConsistency, send = fetch, timeoutMs = 10_000 } = this.#options;
    const old = Math.min(this.#known, size);
    const proof = proveConsistency(old, size).map((hash) => `${toBase64(hash)}\n`);
    const response = await send(`${url.replace(/\/+$/, "")}/add-checkpoint`, {
      method: "POST",
      body: `old ${old}\n${proof.join("")}\n${note}`,
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await readBounded(response);
    if (response.status === 200) return this.#accept(note, size, text);
    const witnessed = response.status === 409 ? parseCount(text.trim()) : undefined;
    if (witnessed !== undefined) return { kind: "conflict", witnessed };
    return { kind: "failed", reason: `the witness answered with status ${response.status}` };
  }

  #accept(note: string, size: number, signatures: string): WitnessAnswer {
    if (signatures === "" || parseNote(note + signatures) === undefined)
      return { kind: "failed", reason: "the witness answered with something that is not a signature" };
    this.#known = size;
    return { kind: "cosigned", signatures };
  }
}

/** A witness is a server of another party, and may send without end. */
async function readBounded(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > maxAnswerLength) throw new Error("the answer of the witness is too long");
  }
  return text + decoder.decode();
}
