// Converts a node from either of the documented shapes to one.

import { nearest } from "../../../machinery/nearest.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import type { ChainNode } from "../protocol.ts";
import { messageLimits } from "../protocol.ts";
import type { ProblemList } from "./problem-list.ts";

export const kinds = ["tool", "skill", "proc", "action", "branch", "map", "gather", "reduce", "approval"] as const;
export type Kind = (typeof kinds)[number];

export interface NodeSpec {
  readonly id: string;
  readonly kind: Kind;
  readonly name: string;
  readonly input: JsonObject;
  readonly inputMap: JsonObject;
  readonly deps: readonly string[];
  readonly next: string;
  readonly condition: string;
  readonly whenTrue: string;
  readonly whenFalse: string;
  /** An expression as text, or the items themselves. */
  readonly items: JsonValue | undefined;
  readonly mapNode: string;
  readonly maxParallel: number;
  readonly onError: string;
  readonly retries: number;
  readonly retryDelayMs: number;
  readonly timeoutMs: number;
  readonly message: string;
}

/** Names with another meaning in lists of outputs: `map[2]` is an item of a map. */
const forbiddenIds = /^(?:__proto__|constructor|prototype)$|\[\d+\]$/;

/** Undefined if it is not a usable node; other faults are only added to the problems. */
export function toNodeSpec(node: ChainNode, place: number, problems: ProblemList): NodeSpec | undefined {
  const id = node.node_id || node.id || "";
  if (id === "" || id.length > messageLimits.maxIdLength) {
    const why = `nodes[${place}] needs a node_id of up to ${messageLimits.maxIdLength} characters`;
    problems.add("bad_node", why, id.slice(0, 40));
    return undefined;
  }
  if (forbiddenIds.test(id)) {
    problems.add("bad_node", `nodes[${place}] needs another node_id: "${id}" is reserved`, id);
    return undefined;
  }
  const kind = toKind(node, id, problems);
  if (kind === undefined) return undefined;
  const spec: NodeSpec = {
    id,
    kind,
    name: node.name || node.action || "",
    input: node.input ?? {},
    inputMap: node.input_map ?? {},
    deps: [...(node.deps ?? []), ...(node.depends_on ?? [])],
    next: node.next_node ?? "",
    condition: node.condition ?? "",
    whenTrue: node.true_node ?? "",
    whenFalse: node.false_node ?? "",
    items: node.items_path || node.items,
    mapNode: node.map_node ?? "",
    maxParallel: node.max_parallel ?? 0,
    onError: node.on_error || "abort",
    retries: node.retries ?? 0,
    retryDelayMs: (node.retry_delay ?? 0.5) * 1000,
    timeoutMs: (node.timeout ?? 0) * 1000,
    message: node.message ?? "",
  };
  checkNumbers(spec, problems);
  checkFields(spec, problems);
  return spec;
}

function toKind(node: ChainNode, id: string, problems: ProblemList): Kind | undefined {
  const given = (node.kind || node.type || "").toLowerCase();
  const kind = given === "" && (node.name || node.action) ? "action" : given;
  if ((kinds as readonly string[]).includes(kind)) return kind as Kind;
  const meant = nearest(kind, kinds);
  const hint = meant === undefined ? `expected one of ${kinds.join(", ")}` : `did you mean "${meant}"?`;
  problems.add("bad_node", `"${id}" has the unknown kind "${kind.slice(0, 40)}"; ${hint}`, id);
  return undefined;
}

function checkNumbers({ id, retries, retryDelayMs, timeoutMs, maxParallel }: NodeSpec, problems: ProblemList): void {
  const { maxRetries } = messageLimits;
  if (retries < 0 || retries > maxRetries)
    problems.add("bad_node", `retries of "${id}": expected 0 to ${maxRetries}`, id);
  for (const [name, value] of Object.entries({
    retry_delay: retryDelayMs,
    timeout: timeoutMs,
    max_parallel: maxParallel,
  }))
    if (!(value >= 0)) problems.add("bad_node", `${name} of "${id}": expected 0 or more`, id);
}

/** Checks the fields that each kind requires. */
function checkFields(spec: NodeSpec, problems: ProblemList): void {
  const { id, kind } = spec;
  const needs = (field: string) => problems.add("bad_node", `"${id}" is a ${kind} and needs ${field}`, id);
  switch (kind) {
    case "tool":
    case "skill":
    case "action":
      if (spec.name === "") needs("a name");
      break;
    case "proc":
      if (spec.name === "" && !Object.hasOwn(spec.input, "cmd") && !Object.hasOwn(spec.inputMap, "cmd"))
        needs("a name or an input `cmd`");
      break;
    case "branch":
      if (spec.condition.trim() === "") needs("a condition");
      if (spec.whenTrue === "" && spec.whenFalse === "") needs("a true_node or a false_node");
      break;
    case "map":
      if (spec.items === undefined || spec.items === "") needs("items_path");
      else if (typeof spec.items !== "string" && !Array.isArray(spec.items))
        needs("items that are a list or an expression");
      if (spec.mapNode === "" && spec.name === "") needs("a map_node, or the name of a tool or skill");
      break;
    case "reduce":
      if (spec.name === "") needs("the name of a function or a tool");
      if (isJsonObject(spec.items)) needs("items that are a list or an expression");
      break;
    default:
  }
}
