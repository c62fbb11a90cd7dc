// The session of the host behind one MCP client: an agent like any other, in the same process.

import type { Implementation } from "@modelcontextprotocol/server";
import { A2EClient } from "../../client/client.ts";
import type { A2EHost } from "../../host/host.ts";
import type { PeerBeginning } from "../../host/session/session-origin.ts";
import { handshake } from "../../protocol/core.ts";
import type { Capability } from "../../protocol/table/capability.ts";
import type { Transport } from "../../protocol/transport.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { ParkedCalls } from "./asks/parked-calls.ts";
import { QuestionDesk } from "./asks/question-desk.ts";
import { ResourceWatches } from "./resource-watches.ts";
import { type CallTool, toCallTools } from "./surface/capability-tools.ts";
import { createSurface, type Surface } from "./surface/surface.ts";

/** Shared by all MCP sessions of one host. */
export interface AgentSetting {
  readonly host: A2EHost;
  readonly tables: readonly Capability[];
  readonly callTools: readonly CallTool[];
  readonly serverInfo: Implementation;
}

export function createAgentSetting(host: A2EHost, version: string): AgentSetting {
  const tables = [...new Set(host.plugins.map(({ plugin }) => plugin.capability))];
  const serverInfo = { name: "a2e", title: host.hostId, version };
  return { host, tables, callTools: toCallTools(tables), serverInfo };
}

export interface McpAgent {
  readonly client: A2EClient;
  readonly surface: Surface;
  readonly questions: QuestionDesk;
  readonly parked: ParkedCalls;
  /** Resources that the client watches; the SDK does not report which. */
  readonly watches: ResourceWatches;
  /** The client has refreshed its token: the session has the rights and the expiry of the new one from now on. */
  useToken(token: string): Promise<void>;
  /** Ends the session; calls in flight may still finish for `drainMs`. Calling it twice is allowed. */
  close(drainMs: number): Promise<void>;
}

export interface AgentOptions {
  agentId: string;
  token: string;
  /** What the door knows about the peer of a client over HTTP. */
  peer?: Pick<PeerBeginning, "certificate" | "principalId">;
  /** The session has ended, at either side. */
  onClosed?(): void;
}

/** Rejects with an A2EError if the host accepts no more sessions, or rejects the token. */
export async function openAgent(
  { host, tables, callTools }: AgentSetting,
  { agentId, token, peer, onClosed = () => {} }: AgentOptions,
): Promise<McpAgent> {
  let parked: ParkedCalls | undefined;
  const transport = watched(
    createDirectTransport(() => host.sessions.create({ isTransient: true, ...peer })),
    () => {
      parked?.close();
      onClosed();
    },
  );
  const capabilities = tables.map(({ name }) => name);
  const client = await A2EClient.connect({ transport, agentId, authToken: token, capabilities });
  let lastToken = token;
  const questions = new QuestionDesk(client, tables);
  parked = new ParkedCalls((carrier) => questions.offer(carrier));
  const surface = createSurface(client, callTools);
  return {
    client,
    surface,
    questions,
    parked,
    watches: new ResourceWatches((uri, isWatched) => surface.watchResource(uri, isWatched)),
    async useToken(refreshed) {
      if (refreshed === lastToken) return;
      await client.rpc(handshake, { agent_id: agentId, agent_caps: capabilities, auth_token: refreshed });
      lastToken = refreshed;
    },
    close: (drainMs) => client.disconnect({ timeoutMs: drainMs }),
  };
}

function watched(transport: Transport, onClosed: () => void): Transport {
  let isClosed = false;
  const closed = () => {
    if (!isClosed) onClosed();
    isClosed = true;
  };
  return {
    open: (events) =>
      transport.open({
        ...events,
        closed(reason) {
          events.closed(reason);
          closed();
        },
      }),
    send: (message) => transport.send(message),
    async close() {
      await transport.close();
      closed();
    },
  };
}
