// Every requirement, in the order in which a report shows them.
import type { Requirement } from "../requirement.ts";
import { calls } from "./calls.ts";
import { chains } from "./chains.ts";
import { claims } from "./claims.ts";
import { envData } from "./env-data.ts";
import { envelope } from "./envelope.ts";
import { environments } from "./environments.ts";
import { episodes } from "./episodes.ts";
import { errors } from "./errors.ts";
import { events } from "./events.ts";
import { gating } from "./gating.ts";
import { handshake } from "./handshake.ts";
import { http } from "./http.ts";
import { limits } from "./limits.ts";
import { mcpAsks } from "./mcp-asks.ts";
import { mcpContents } from "./mcp-contents.ts";
import { mcpServers } from "./mcp-servers.ts";
import { mcpTools } from "./mcp-tools.ts";
import { memory } from "./memory.ts";
import { memoryLimits } from "./memory-limits.ts";
import { memorySearch } from "./memory-search.ts";
import { memorySharing } from "./memory-sharing.ts";
import { planRefusals } from "./plan-refusals.ts";
import { plans } from "./plans.ts";
import { proc } from "./proc.ts";
import { procExtensions } from "./proc-extensions.ts";
import { pythonSdk } from "./python-sdk.ts";
import { sessionState } from "./session-state.ts";
import { sessions } from "./sessions.ts";
import { skills } from "./skills.ts";
import { stdio } from "./stdio.ts";
import { toolkits } from "./toolkits.ts";
import { tools } from "./tools.ts";
import { websocket } from "./websocket.ts";

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
