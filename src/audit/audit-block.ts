// A block is one entry of the log: the audit lines of a turn, each a line of JSON, or one remark of the log about itself.

/** How every audit line begins, with the time in seconds behind it. */
const lineStart = '{"ts":';
const remarkStart = '{"audit":';

/** Something that the log says about itself. Agents cannot write such a line: their lines begin with the time. */
export type Remark =
  /** The first entry of a log. `previous` is the size of an earlier log whose key is gone. */
  | { audit: "began"; ts: number; previous?: number }
  /** Entries from `from` up to `to` tell of turns that a power cut has undone. */
  | { audit: "lost"; ts: number; from: number; to: number }
  /** Entries below `minimum` are deleted. */
  | { audit: "pruned"; ts: number; minimum: number };

/** `ts` of a remark is in seconds, as in the lines. */
export function formatRemark(remark: Remark): string {
  return `${JSON.stringify(remark)}\n`;
}

export function parseRemark(block: Uint8Array): Remark | undefined {
  const bytes = asBuffer(block);
  if (bytes.toString("latin1", 0, remarkStart.length) !== remarkStart) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8")) as Remark;
  } catch {
    return undefined;
  }
}

/** When the first line of a block was written, in milliseconds since 1970. */
export function readBlockTime(block: Uint8Array): number | undefined {
  const remark = parseRemark(block);
  if (remark !== undefined) return typeof remark.ts === "number" ? remark.ts * 1000 : undefined;
  const start = asBuffer(block).toString("latin1", 0, 40);
  if (!start.startsWith(lineStart)) return undefined;
  const seconds = Number.parseFloat(start.slice(lineStart.length));
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

export function countLines(block: Uint8Array): number {
  let count = 0;
  for (let at = block.indexOf(10); at >= 0; at = block.indexOf(10, at + 1)) count += 1;
  return count;
}

/** The lines of a block, without their newlines. */
export function linesOf(block: Uint8Array): string[] {
  return asBuffer(block).toString("utf8").split("\n").slice(0, -1);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
