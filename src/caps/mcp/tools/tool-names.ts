// The names of a server's tools in the catalogue.
import { createHash } from "node:crypto";
import { mcpLimits } from "../limits.ts";

const hashLength = 8;

/**
 * `server__tool`, always the same for the same server and tool. Characters that model providers reject are replaced,
 * and long names are cut; a hash of the original name then keeps the name unique.
 */
export function toolNameOf(serverId: string, tool: string): string {
  const plain = tool.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const name = `${serverId}__${plain}`;
  if (plain === tool && name.length <= mcpLimits.maxToolNameLength) return name;
  const hash = createHash("sha256").update(tool).digest("hex").slice(0, hashLength);
  return `${name.slice(0, mcpLimits.maxToolNameLength - hashLength - 1)}_${hash}`;
}
