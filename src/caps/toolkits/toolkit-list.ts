// A toolkit as it is sent to agents. The parameters contain no secrets.

import { messageOf } from "../../protocol/errors.ts";
import type { RequestOf } from "../../protocol/table/capability.ts";
import type { Toolkit } from "./define-toolkit.ts";
import type { ToolkitDefinition, ToolkitScope, toolkits } from "./protocol.ts";
import { toolName, toolsFor } from "./shelf/running-toolkit.ts";
import type { ToolkitRecord } from "./shelf/toolkit-record.ts";

/** `toolkit` is undefined if it is installed but the host no longer has it. */
export function toDefinition(
  instance: string,
  toolkit: Toolkit | undefined,
  record: ToolkitRecord | undefined,
  scope: ToolkitScope,
): ToolkitDefinition {
  const name = toolkit?.name ?? record?.toolkit ?? instance;
  const isConfigured = record !== undefined && record.state !== "installed";
  const { tools, trouble } = readTools(toolkit, isConfigured ? record.config : undefined);
  return {
    name,
    alias: instance === name ? "" : instance,
    description: toolkit?.description ?? "",
    category: toolkit?.category ?? "",
    tags: [...(toolkit?.tags ?? [])],
    icon_svg: toolkit?.icon_svg ?? null,
    schema: toolkit?.configSchema ?? {},
    tools: tools.map((tool) => toolName(instance, tool)),
    configured: isConfigured,
    version: toolkit?.version ?? "",
    state: record?.state ?? "available",
    scope,
    config: record?.config ?? {},
    secrets: [...(record?.secrets ?? [])],
    error: record?.error || trouble,
  };
}

/** A toolkit whose `when` throws must not prevent the list of the others. */
function readTools(
  toolkit: Toolkit | undefined,
  config: ToolkitRecord["config"] | undefined,
): { tools: string[]; trouble: string } {
  if (toolkit === undefined) return { tools: [], trouble: "" };
  try {
    return { tools: toolsFor(toolkit, config).map(([name]) => name), trouble: "" };
  } catch (error) {
    return { tools: [], trouble: messageOf(error) };
  }
}

type ListRequest = RequestOf<(typeof toolkits)["calls"]["list"]>;

export function isWanted(
  { category, tags, state }: ToolkitDefinition,
  { filter_kind, filter_tags, filter_state }: ListRequest,
): boolean {
  return (
    (filter_kind === "" || category === filter_kind) &&
    filter_tags.every((tag) => tags.includes(tag)) &&
    (filter_state === "" || state === filter_state)
  );
}
