// Recordings as files, one per session. Best effort: lines that cannot be written are lost and logged; no call waits.
import { type FileHandle, mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../plugin/logger.ts";
import type { RecordingFile, Recordings } from "../../recording/recorder.ts";
import { digestOfKey } from "./digest.ts";

export interface RecordingFilesOptions {
  folder: string;
  log: Pick<Logger, "warn">;
  /** The oldest files beyond it are removed. */
  maxFiles?: number;
  /** How long a line may wait to be written. */
  flushMs?: number;
  /**
   * Lines of a session that wait to be written, in characters; beyond this limit the recording of that session ends.
   */
  maxPendingLength?: number;
}

const fileEnding = ".a2e-recording.ndjson";

export function createRecordingFiles(options: RecordingFilesOptions): Recordings {
  const { folder, log, maxFiles = 1000, flushMs = 50, maxPendingLength = 32 * 1024 * 1024 } = options;
  const files = new Set<WrittenFile>();
  let count = 0;
  let tidying: Promise<void> = Promise.resolve();

  async function removeOldest(): Promise<void> {
    const names = (await readdir(folder)).filter((name) => name.endsWith(fileEnding)).sort();
    for (const name of names.slice(0, Math.max(0, names.length - maxFiles)))
      await rm(join(folder, name), { force: true });
  }

  return {
    create(sessionId) {
      count += 1;
      // Sorts by time. The id of a session is a secret, so a file is not named after it.
      const time = new Date().toISOString().replaceAll(":", "-");
      const name = `${time}-${String(count).padStart(6, "0")}-${digestOfKey(sessionId).slice(0, 12)}${fileEnding}`;
      const file = new WrittenFile(join(folder, name), { log, flushMs, maxPendingLength });
      files.add(file);
      void file.ended.then(() => files.delete(file));
      if (count % tidyEvery === 1) {
        tidying = tidying.then(removeOldest).catch((cause: unknown) => {
          log.warn("old recordings could not be removed", { folder, cause });
        });
      }
      return file;
    },
    async close() {
      for (const file of files) file.close();
      await Promise.all([...files].map(({ ended }) => ended));
      await tidying;
    },
  };
}

/** Looking through the folder for every session would cost more than a few files too many. */
const tidyEvery = 16;

type WritingOptions = Required<Pick<RecordingFilesOptions, "log" | "flushMs" | "maxPendingLength">>;

class WrittenFile implements RecordingFile {
  readonly path: string;
  /** Resolves when the file is closed. Never rejects. */
  readonly ended: Promise<void>;
  readonly #options: WritingOptions;
  #end = () => {};
  #pending: string[] = [];
  #pendingLength = 0;
  #handle: FileHandle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isClosing = false;
  #isLost = false;

  constructor(path: string, options: WritingOptions) {
    this.path = path;
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  write(lines: string): void {
    if (this.#isClosing || this.#isLost) return;
    if (this.#pendingLength + lines.length > this.#options.maxPendingLength)
      return this.#lose("a session sends lines faster than they can be recorded");
    this.#pending.push(lines);
    this.#pendingLength += lines.length;
    this.#timer ??= setTimeout(() => void this.#flush(), this.#options.flushMs).unref();
  }

  async read(): Promise<string | undefined> {
    await this.#flush();
    if (this.#isLost) return undefined;
    return readFile(this.path, "utf8").catch(() => undefined);
  }

  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    void this.#flush()
      .then(() => this.#handle?.close())
      .catch(() => {})
      .then(() => this.#end());
  }

  /** Resolves when everything that is here now has been written or lost. */
  async #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#pending.length > 0 || this.#writing !== undefined) {
      this.#writing ??= this.#writePending().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  async #writePending(): Promise<void> {
    const text = this.#pending.join("");
    this.#pending = [];
    this.#pendingLength = 0;
    try {
      this.#handle ??= await this.#open();
      await this.#handle.appendFile(text);
    } catch (cause) {
      this.#lose("a session can no longer be recorded", cause);
    }
  }

  async #open(): Promise<FileHandle> {
    await mkdir(join(this.path, ".."), { recursive: true, mode: 0o700 });
    return open(this.path, "ax", 0o600);
  }

  #lose(message: string, cause?: unknown): void {
    this.#isLost = true;
    this.#pending = [];
    this.#pendingLength = 0;
    this.#options.log.warn(message, { path: this.path, ...(cause === undefined ? {} : { cause }) });
  }
}
