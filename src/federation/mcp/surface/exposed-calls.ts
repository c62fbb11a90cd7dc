// Which calls of which capabilities are tools for MCP clients, and under which names. Data, no behaviour: a capability
// that is not listed here, or that a session does not have, does not appear.
import type { ToolAnnotations } from "@modelcontextprotocol/server";

export interface Exposure {
  /** Where the name that the wire type gives would not say it. */
  readonly name?: string;
  readonly annotations?: ToolAnnotations;
}

const reads: Exposure = { annotations: { readOnlyHint: true, openWorldHint: false } };
const adds: Exposure = { annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false } };
const destroys: Exposure = { annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false } };
const acts: Exposure = { annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true } };

/** By capability, then by wire type. */
export const exposedCalls: Readonly<Record<string, Readonly<Record<string, Exposure>>>> = {
  memory: {
    "memory/init/req": { ...adds, name: "memory_open" },
    "memory/store/req": { ...adds, name: "memory_remember" },
    "memory/retrieve/req": { ...reads, name: "memory_recall" },
    "memory/forget/req": destroys,
  },
  env: {
    "env/space/req": reads,
    "env/reset/req": adds,
    "env/step/req": adds,
    "env/observe/req": reads,
    "env/close/req": destroys,
  },
  planning: {
    "planning/plan/create": adds,
    "planning/plan/list": reads,
    "planning/plan/board": reads,
    "planning/plan/update": destroys,
    "planning/plan/delete": destroys,
    "planning/task/add": adds,
    "planning/task/update": destroys,
    "planning/task/list": reads,
    "planning/task/delete": destroys,
    "planning/task/ready": reads,
    "planning/task/claim": adds,
    "planning/task/renew": adds,
    "planning/task/release": adds,
    "planning/task/history": reads,
  },
  skill: {
    // Calls of skills are tools of their own, one for each skill.
    "skill/read/req": { ...reads, name: "skill_read_file" },
  },
  chains: {
    "chain/req": { ...acts, name: "chain_run" },
    "chain/validate/req": reads,
    "chain/list/req": reads,
    "chain/output/req": reads,
    "chain/cancel/req": destroys,
  },
};

/** `planning/task/add` is called `planning_task_add`. */
export function toToolName(type: string, { name }: Exposure): string {
  return name ?? type.replace(/\/req$/, "").replaceAll("/", "_");
}
