// What a server says on stderr: always read, so that it never blocks; kept short, so that it never fills the host.
import { mcpLimits } from "../limits.ts";

export class StderrLog {
  readonly #lines: string[] = [];
  readonly #report: (line: string) => void;
  readonly #redact: (text: string) => string;
  readonly #now: () => number;
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
    const parts = (this.#rest + chunk.toString("utf8")).split("\n");
    // A line without an end is cut, not kept until its end comes.
    this.#rest = (parts.pop() ?? "").slice(0, mcpLimits.maxStderrLineLength);
    const skipped = parts.length - mcpLimits.maxStderrLines;
    for (const part of skipped > 0 ? parts.slice(skipped) : parts) this.note(part);
  }

  note(text: string): void {
    const line = this.#redact(text.trimEnd().slice(0, mcpLimits.maxStderrLineLength));
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
