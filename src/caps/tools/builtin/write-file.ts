import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, rename, unlink } from "node:fs/promises";
import { z } from "zod";
import { toReadableError, type WorkspaceFolder } from "../../../machinery/confinement/workspace.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import { defineTool } from "../definition/define-tool.ts";
import type { BuiltinEnvironment } from "./environment.ts";

export function writeFileTool({ workspace }: BuiltinEnvironment): CatalogueTool {
  return defineTool({
    name: "write_file",
    description: "Writes a file of the workspace, making folders as needed. Replaces it as a whole, or appends to it.",
    tags: ["files", "write"],
    input: z.object({
      path: z.string().min(1).describe("Path relative to the workspace."),
      content: z.string(),
      encoding: z.enum(["utf8", "base64"]).default("utf8"),
      append: z.boolean().default(false).describe("Add to the end rather than replace."),
    }),
    async run({ path, content, encoding, append }, { charge }) {
      // Buffer.from() decodes any text as base64 by skipping invalid characters, so the text is checked first.
      if (encoding === "base64" && /[^A-Za-z0-9+/=_\r\n-]/.test(content))
        throw new Error('content is not base64; leave out encoding, or give "utf8", to write text');
      const bytes = Buffer.from(content, encoding);
      const segments = await workspace.resolve(path);
      charge?.("bytes_stored", bytes.length);
      const name = segments.at(-1);
      if (name === undefined) throw new Error("the path names the workspace itself, not a file");
      const folder = await workspace.openFolder(segments.slice(0, -1), { create: true });
      try {
        const mode = await modeOf(folder, name);
        if (append) {
          const { O_APPEND, O_CREAT, O_WRONLY } = constants;
          const file = await workspace.openFile(segments, O_WRONLY | O_APPEND | O_CREAT);
          await file.writeFile(bytes).finally(() => file.close());
        } else await replaceFile(folder, name, bytes, mode);
        return { path: segments.join("/"), bytes_written: bytes.length, created: mode === undefined };
      } catch (error) {
        throw toReadableError(error, segments.join("/"));
      } finally {
        await folder.close();
      }
    },
  });
}

async function modeOf(folder: WorkspaceFolder, name: string): Promise<number | undefined> {
  try {
    const found = await lstat(`${folder.path}/${name}`);
    if (found.isFile()) return found.mode & 0o777;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  throw new Error(`"${name}" exists and is not a regular file`);
}

/**
 * Readers see the old file or the new one, never a part. A link that was put in its place meanwhile is replaced, not
 * followed.
 */
async function replaceFile(
  folder: WorkspaceFolder,
  name: string,
  bytes: Buffer,
  mode: number | undefined,
): Promise<void> {
  const temporary = `${folder.path}/.${randomUUID()}.tmp`;
  try {
    const file = await open(temporary, "wx", mode ?? 0o666);
    try {
      await file.writeFile(bytes);
      if (mode !== undefined) await file.chmod(mode);
    } finally {
      await file.close();
    }
    await rename(temporary, `${folder.path}/${name}`);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
}
