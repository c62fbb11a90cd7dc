// The stderr of a server: always read, so that the server never blocks; limited, so that it never fills the host's
// memory.
import { StringDecoder } from "node:string_decoder";
import { mcpLimits } from "../limits.ts";

/** An incomplete line is kept longer than it is shown: a secret that was cut in the middle would not be redacted. */
const maxRestLength = 8 * mcpLimits.maxStderrLineLength;

export class StderrLog {
  readonly #lines: string[] = [];
  readonly #report: (line: string) => void;
  readonly #redact: (text: string) => string;
  readonly #now: () => number;
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  #second = 0;
  #inSecond = 0;

  constructor(options: { report(line: string): void; redact(text: string): string; now(): number }) {
    this.#report = options.report;
    this.#redact = options.redact;
    this.#now = options.now;
  }

  /** The last lines, oldest first. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  write(chunk: Buffer): void {
    const parts = (this.#rest + this.#decoder.write(chunk)).split("\n");
    this.#rest = (parts.pop() ?? "").slice(0, maxRestLength);
    const skipped = parts.length - mcpLimits.maxStderrLines;
    for (const part of skipped > 0 ? parts.slice(skipped) : parts) this.note(part);
  }

  note(text: string): void {
    const shown = this.#redact(text.slice(0, maxRestLength)).trimEnd();
    const line = shown.slice(0, mcpLimits.maxStderrLineLength);
    if (line === "") return;
    this.#lines.push(line);
    if (this.#lines.length > mcpLimits.maxStderrLines) this.#lines.shift();
    const second = Math.floor(this.#now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond = 0;
    }
    this.#inSecond += 1;
    if (this.#inSecond <= mcpLimits.maxStderrLinesPerSecond) this.#report(line);
  }
}
