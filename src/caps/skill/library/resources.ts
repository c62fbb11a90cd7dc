// The files of a skill for an agent: lists them, and reads one.
import type { RequestOf, ResultInputOf } from "../../../protocol/table/capability.ts";
import { skillLimits } from "../limits.ts";
import { unknownResource } from "../problems.ts";
import type { skill as table } from "../protocol.ts";
import { checkFiles, checkUnchanged, listFiles, openSkillFile } from "./folder-files.ts";
import type { Skill } from "./skill.ts";

type ReadRequest = RequestOf<(typeof table.calls)["read"]>;
type ReadResult = ResultInputOf<(typeof table.calls)["read"]>;

/** All files but SKILL.md, whose instructions the agent already has, and the test cases. */
export async function listResources(skill: Skill): Promise<{ path: string; size: number }[]> {
  const files = await listFiles(skill.folder);
  checkFiles(skill, files);
  return files.filter(({ path }) => !/^(skill\.md$|tests\/)/i.test(path)).map(({ path, size }) => ({ path, size }));
}

export async function readResource(skill: Skill, request: ReadRequest): Promise<ReadResult> {
  const { path, encoding, offset } = request;
  const file = await openResource(skill, path);
  try {
    const { size } = await file.stat();
    if (offset > size) throw unknownResource(skill.name, path, `ends at ${size} bytes, before the offset ${offset}`);
    const wanted = Math.min(request.max_bytes ?? skillLimits.maxReadBytes, skillLimits.maxReadBytes, size - offset);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(wanted), position: offset, length: wanted });
    await checkUnchanged(skill);
    const bytes = buffer.subarray(0, bytesRead);
    const { content, taken } =
      encoding === "base64" ? toBase64(bytes) : toText(skill.name, path, bytes, offset + wanted < size);
    const next = offset + taken;
    return {
      name: skill.name,
      skill_version: skill.version,
      path,
      encoding,
      content,
      size,
      next_offset: next < size && taken > 0 ? next : null,
    };
  } finally {
    await file.close();
  }
}

/** `SKILL.md` always means the manifest, even if its file is called `skill.md`. */
async function openResource(skill: Skill, path: string) {
  try {
    return await openSkillFile(skill, path);
  } catch (error) {
    if (path === "SKILL.md") return openSkillFile(skill, "skill.md");
    await checkUnchanged(skill);
    throw error;
  }
}

function toBase64(bytes: Buffer): { content: string; taken: number } {
  return { content: bytes.toString("base64"), taken: bytes.length };
}

/** A character that is cut at the end of the piece is left to the next piece. */
function toText(name: string, path: string, bytes: Buffer, goesOn: boolean): { content: string; taken: number } {
  const end = goesOn ? wholeCharacters(bytes) : bytes.length;
  const piece = bytes.subarray(0, end === 0 ? bytes.length : end);
  try {
    return { content: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(piece), taken: piece.length };
  } catch {
    throw unknownResource(name, path, "is not UTF-8 text here; read it with encoding base64");
  }
}

function wholeCharacters(bytes: Buffer): number {
  let start = bytes.length;
  // The last character begins at most three bytes before the end.
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    if (length > back) start = bytes.length - back;
    break;
  }
  return start;
}
