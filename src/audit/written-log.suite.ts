// Audit logs in temporary folders, for tests.
import { createHash } from "node:crypto";
import { LogWriter } from "./log-writer.ts";
import { createNoteSigner } from "./note-key.ts";
import { TileFolder } from "./tiles.ts";

export const testSigner = createNoteSigner("host.example/audit", createHash("sha256").update("test").digest());

export function testLine(index: number): string {
  return `{"ts":${1_700_000_000 + index}.000,"session_id":"s","req_id":"r-${index}","success":true}\n`;
}

/** Writes blocks of one line each and signs them: after each of the given sizes, and at the end. */
export async function writeLog(path: string, size: number, signAt: readonly number[] = []): Promise<LogWriter> {
  const writer = new LogWriter(new TileFolder(path), testSigner);
  while (writer.size < size) {
    writer.append(Buffer.from(testLine(writer.size)));
    if (signAt.includes(writer.size)) await writer.sign();
  }
  await writer.sign();
  return writer;
}
