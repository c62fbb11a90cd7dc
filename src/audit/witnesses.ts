// Has the checkpoints of a log cosigned by witnesses, in the background. The newest checkpoint with cosignatures is in the
// file `witnessed` beside `checkpoint`: an auditor who knows the keys of the witnesses can check it.
import type { Logger } from "../plugin/logger.ts";
import type { TileFolder } from "./tiles.ts";
import { proveConsistency } from "./tree-proofs.ts";
import { WitnessClient, type WitnessOptions } from "./witness-client.ts";

export interface WitnessesOptions extends Pick<WitnessOptions, "send" | "timeoutMs"> {
  urls: readonly string[];
  folder: TileFolder;
  log: Logger;
}

export class Witnesses {
  readonly #folder: TileFolder;
  readonly #log: Logger;
  readonly #clients: readonly WitnessClient[];
  /** Witnesses whose last answer was a failure: the next is not logged. */
  readonly #failing = new Set<string>();
  /** The checkpoint to be sent next; older ones that were not sent yet are left out. */
  #next: { note: string; size: number } | undefined;
  #working: Promise<void> | undefined;

  constructor({ urls, folder, log, ...options }: WitnessesOptions) {
    this.#folder = folder;
    this.#log = log;
    const prove = (older: number, newer: number) => proveConsistency({ size: newer, source: folder }, older, newer);
    this.#clients = urls.map((url) => new WitnessClient({ ...options, url, proveConsistency: prove }));
  }

  /** Sends this checkpoint once the one before it has been answered. Returns at once. */
  submit(note: string, size: number): void {
    if (this.#clients.length === 0) return;
    this.#next = { note, size };
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  async #work(): Promise<void> {
    for (let next = this.#next; next !== undefined; next = this.#next) {
      this.#next = undefined;
      const { note, size } = next;
      const answers = await Promise.all(this.#clients.map((client) => this.#cosign(client, note, size)));
      const signatures = answers.join("");
      if (signatures === "") continue;
      try {
        await this.#folder.write([{ name: "witnessed", bytes: Buffer.from(note + signatures) }]);
      } catch (error) {
        this.#log.warn("the cosignatures of witnesses could not be written", { error });
      }
    }
  }

  async #cosign(client: WitnessClient, note: string, size: number): Promise<string> {
    const answer = await client.cosign(note, size);
    const { url } = client;
    if (answer.kind === "cosigned") {
      this.#failing.delete(url);
      return answer.signatures;
    }
    if (answer.kind === "conflict")
      this.#log.error("a witness has another audit log: this one was rolled back or rewritten", {
        url,
        size,
        ...answer,
      });
    else if (!this.#failing.has(url)) this.#log.warn("a witness did not cosign", { url, reason: answer.reason });
    this.#failing.add(url);
    return "";
  }

  /** Waits for the answers to what was submitted. */
  async close(): Promise<void> {
    await this.#working;
  }
}
