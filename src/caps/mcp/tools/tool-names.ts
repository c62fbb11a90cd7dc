// What the tools of a server are called in the catalogue.
import { createHash } from "node:crypto";
import { mcpLimits } from "../limits.ts";

const hashLength = 8;

/**
 * `server__tool`. Always the same for the same two: where a name is too long or has characters that model providers
 * refuse, it is cut or they are replaced, and a hash of the real name keeps it apart from others.
 */
export function toolNameOf(serverId: string, tool: string): string {
  const plain = tool.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const name = `${serverId}__${plain}`;
  if (plain === tool && name.length <= mcpLimits.maxToolNameLength) return name;
  const hash = createHash("sha256").update(tool).digest("hex").slice(0, hashLength);
  return `${name.slice(0, mcpLimits.maxToolNameLength - hashLength - 1)}_${hash}`;
}
