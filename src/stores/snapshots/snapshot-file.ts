// A snapshot as a file: a line of JSON that describes it, then its state as JSON. Listing reads the first line only.
import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import type { StoredSnapshot } from "../../host/ports/snapshot-store.ts";
import { type JsonValue, parseJson, writeJson } from "../../protocol/json.ts";
import { digestOfText } from "../files/digest.ts";

const formatName = "a2e-snapshot";
const formatVersion = 1;

const fileHeader = z.object({
  format: z.literal(formatName),
  version: z.literal(formatVersion),
  label: z.string(),
  created_at: z.number(),
  /** Size and digest of the state, so that a truncated or altered file is detected. */
  bytes: z.int().nonnegative(),
  sha256: z.string(),
});

type FileHeader = z.infer<typeof fileHeader>;
type About = Omit<StoredSnapshot, "snapshot_id">;

export function toSnapshotFile(
  state: JsonValue,
  about: Pick<About, "label" | "created_at">,
): About & { content: string } {
  const text = writeJson(state);
  const bytes = Buffer.byteLength(text);
  const { label, created_at } = about;
  const header: FileHeader = {
    format: formatName,
    version: formatVersion,
    label,
    created_at,
    bytes,
    sha256: digestOfText(text),
  };
  return { label, created_at, bytes, content: `${writeJson(header)}\n${text}` };
}

/**
 * Reads the first line only. Throws on a damaged file, a newer format, or a length that differs from the first line's.
 */
export async function readSnapshotAbout(file: FileHandle): Promise<About> {
  const chunks: Buffer[] = [];
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(4096), 0, 4096, position);
    const chunk = buffer.subarray(0, bytesRead);
    const end = chunk.indexOf("\n");
    chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
    position += end < 0 ? bytesRead : end + 1;
    if (end < 0 && bytesRead > 0) continue;
    const { label, created_at, bytes } = parseHeader(Buffer.concat(chunks).toString());
    assertLength((await file.stat()).size - position, bytes);
    return { label, created_at, bytes };
  }
}

/** Throws on a damaged file or a newer format. */
export function parseSnapshotFile(content: Buffer): { about: About; state: JsonValue } {
  const end = content.indexOf("\n");
  const { label, created_at, bytes, sha256 } = parseHeader(
    content.subarray(0, end < 0 ? content.length : end).toString(),
  );
  const body = content.subarray(end < 0 ? content.length : end + 1);
  assertLength(body.length, bytes);
  if (digestOfText(body) !== sha256) throw new Error("damaged: its state differs from the saved state");
  return { about: { label, created_at, bytes }, state: parseJson(body.toString()) };
}

function parseHeader(line: string): FileHeader {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new Error("damaged: its first line is not JSON", { cause });
  }
  const version = value !== null && typeof value === "object" && "version" in value ? value.version : undefined;
  if (typeof version === "number" && version > formatVersion) {
    throw new Error(
      `written in format version ${version} by a newer release; this release reads up to ${formatVersion}`,
    );
  }
  const parsed = fileHeader.safeParse(value);
  if (!parsed.success) throw new Error("damaged: its first line does not describe a snapshot", { cause: parsed.error });
  return parsed.data;
}

function assertLength(found: number, expected: number): void {
  if (found !== expected) throw new Error(`damaged: ${found} bytes of state instead of ${expected}`);
}
