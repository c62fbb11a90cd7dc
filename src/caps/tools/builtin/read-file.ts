import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import { cutText } from "../../../machinery/validation/json-size.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import { defineTool, toolOutput } from "../definition/define-tool.ts";
import { toolLimits } from "../limits.ts";
import type { BuiltinEnvironment } from "./environment.ts";

export function readFileTool({ workspace }: BuiltinEnvironment): CatalogueTool {
  return defineTool({
    name: "read_file",
    description: "Reads a file of the workspace: text by lines, or any file as base64 by bytes.",
    tags: ["files", "read"],
    idempotent: true,
    input: z.object({
      path: z.string().min(1).describe("Path relative to the workspace."),
      offset: z.int().min(0).default(0).describe("Lines to skip (bytes with base64)."),
      limit: z.int().min(1).optional().describe("Lines to return at most (bytes with base64)."),
      encoding: z.enum(["utf8", "base64"]).default("utf8"),
    }),
    async run({ path, offset, limit, encoding }, { signal }) {
      const segments = await workspace.resolve(path);
      const file = await workspace.openFile(segments, constants.O_RDONLY);
      try {
        const size_bytes = (await file.stat()).size;
        const shown = { path: segments.join("/"), encoding, size_bytes };
        if (encoding === "base64") {
          const { content, hasMore } = await readBytes(file, offset, limit);
          return toolOutput({ data: { ...shown, content, offset }, truncated: hasMore });
        }
        const { content, lines, hasMore, isLineCut } = await readLines(
          file,
          offset,
          limit ?? Number.POSITIVE_INFINITY,
          signal,
        );
        const next = offset + lines;
        const summary = isLineCut
          ? `line ${next} is longer than ${toolLimits.maxReadBytes} bytes and was cut: read it by bytes with encoding "base64", or continue with the next line at offset ${next}`
          : `there is more: continue with offset ${next}`;
        return toolOutput({
          data: { ...shown, content, offset, lines },
          truncated: hasMore,
          ...(hasMore ? { summary } : {}),
        });
      } finally {
        await file.close();
      }
    },
  });
}

async function readBytes(file: FileHandle, offset: number, limit: number | undefined) {
  // Base64 is a third larger than the bytes that it encodes.
  const length = Math.min(limit ?? Number.POSITIVE_INFINITY, Math.floor(toolLimits.maxReadBytes * 0.75));
  const buffer = Buffer.alloc(length + 1);
  let filled = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, offset + filled);
    filled += bytesRead;
    if (bytesRead === 0 || filled === buffer.length) break;
  }
  return { content: buffer.toString("base64", 0, Math.min(filled, length)), hasMore: filled > length };
}

const chunkBytes = 64 * 1024;

interface LinesRead {
  content: string;
  lines: number;
  hasMore: boolean;
  /** Not even the first line fits: only its beginning is returned. */
  isLineCut?: boolean;
}

/** Reads only as much as needed: skips the lines before `offset`, and does not read beyond the limit. */
async function readLines(file: FileHandle, offset: number, limit: number, signal: AbortSignal): Promise<LinesRead> {
  const decoder = new TextDecoder("utf-8");
  const buffer = Buffer.alloc(chunkBytes);
  let content = "";
  let skipped = 0;
  let lines = 0;
  let room: number = toolLimits.maxReadBytes;
  let isInLine = false;
  /** Index in the content at which its last line begins. */
  let lineStart = 0;
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, chunkBytes, position);
    if (position === 0 && buffer.subarray(0, bytesRead).includes(0)) {
      throw new Error('the file is binary; read it with encoding "base64"');
    }
    position += bytesRead;
    const text = decoder.decode(buffer.subarray(0, bytesRead), { stream: bytesRead > 0 });
    for (let start = 0; start < text.length; ) {
      const newline = text.indexOf("\n", start);
      const end = newline < 0 ? text.length : newline + 1;
      if (skipped < offset) {
        if (newline >= 0) skipped++;
      } else {
        if (lines >= limit) return { content, lines, hasMore: true };
        const piece = text.slice(start, end);
        const cut = cutText(piece, room);
        content += cut;
        room -= Buffer.byteLength(cut);
        // Only whole lines are returned, so that a reader that continues with the next line misses and repeats nothing.
        if (cut.length < piece.length && lines > 0)
          return { content: content.slice(0, lineStart), lines, hasMore: true };
        if (cut.length < piece.length) return { content, lines: 1, hasMore: true, isLineCut: true };
        isInLine = newline < 0;
        if (!isInLine) {
          lines++;
          lineStart = content.length;
        }
      }
      start = end;
    }
    if (bytesRead === 0) return { content, lines: lines + (isInLine ? 1 : 0), hasMore: false };
  }
}
