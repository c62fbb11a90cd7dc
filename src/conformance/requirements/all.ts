// Every requirement, in the order in which a report shows them.
import type { Requirement } from "../requirement.ts";
import { chains } from "./chains.ts";
import { calls } from "./core/calls.ts";
import { envelope } from "./core/envelope.ts";
import { errors } from "./core/errors.ts";
import { events } from "./core/events.ts";
import { gating } from "./core/gating.ts";
import { handshake } from "./core/handshake.ts";
import { limits } from "./core/limits.ts";
import { pythonSdk } from "./core/python-sdk.ts";
import { sessionState } from "./core/session-state.ts";
import { sessions } from "./core/sessions.ts";
import { envData } from "./env/env-data.ts";
import { environments } from "./env/environments.ts";
import { episodes } from "./env/episodes.ts";
import { mcpAsks } from "./mcp/mcp-asks.ts";
import { mcpContents } from "./mcp/mcp-contents.ts";
import { mcpServers } from "./mcp/mcp-servers.ts";
import { mcpTools } from "./mcp/mcp-tools.ts";
import { memory } from "./memory/memory.ts";
import { memoryLimits } from "./memory/memory-limits.ts";
import { memorySearch } from "./memory/memory-search.ts";
import { memorySharing } from "./memory/memory-sharing.ts";
import { claims } from "./planning/claims.ts";
import { planRefusals } from "./planning/plan-refusals.ts";
import { plans } from "./planning/plans.ts";
import { proc } from "./proc/proc.ts";
import { procExtensions } from "./proc/proc-extensions.ts";
import { skills } from "./skills.ts";
import { toolkits } from "./toolkits.ts";
import { tools } from "./tools.ts";
import { http } from "./transports/http.ts";
import { stdio } from "./transports/stdio.ts";
import { websocket } from "./transports/websocket.ts";

export const requirements: readonly Requirement[] = [
  ...envelope,
  ...errors,
  ...handshake,
  ...gating,
  ...calls,
  ...events,
  ...sessions,
  ...sessionState,
  ...tools,
  ...mcpServers,
  ...mcpTools,
  ...mcpContents,
  ...mcpAsks,
  ...toolkits,
  ...episodes,
  ...environments,
  ...envData,
  ...memory,
  ...memorySearch,
  ...memoryLimits,
  ...memorySharing,
  ...plans,
  ...planRefusals,
  ...claims,
  ...chains,
  ...proc,
  ...procExtensions,
  ...skills,
  ...limits,
  ...http,
  ...websocket,
  ...stdio,
  ...pythonSdk,
];
