// The MCP servers that a killed host leaves behind, and the programs that they have started.
import { killGroups, OrphanGuard } from "../../../machinery/processes/orphan-guard.ts";

/** A guard whose entries are process groups. A server should end by itself when its input is closed: it has a second for that. */
export function createServerGuard(): OrphanGuard {
  return new OrphanGuard({ name: "a2e-servers", cleanUp: `[ -z "$entries" ] || sleep 1\n${killGroups}` });
}
