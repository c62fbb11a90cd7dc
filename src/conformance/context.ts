// The context of a requirement: sessions of the host under test, and facts about the host.

import { protocolCapabilities } from "../protocol/dialects.ts";
import type { Message } from "../protocol/envelope.ts";
import type { JsonObject } from "../protocol/json.ts";
import { asArray, asObject, check } from "./check.ts";
import type { OpenLink, TransportKind } from "./link.ts";
import { openStdio, type StdioLink } from "./links/stdio.ts";
import type { Web } from "./links/web.ts";
import { openWebSocket, type WebSocketLink, type WebSocketLinkOptions } from "./links/websocket.ts";
import { Peer } from "./peer.ts";
import { referenceFile } from "./reference-data.ts";
import type { Traffic } from "./traffic.ts";

/** The features of the host, queried once per transport. */
export interface Survey {
  readonly maxParallel: number;
  /** Canonical names of capabilities. */
  readonly granted: readonly string[];
  readonly missing: readonly string[];
  /** Definitions by name, deferred tools included. */
  readonly tools: ReadonlyMap<string, JsonObject>;
  readonly isTokenRequired: boolean;
  /** Names of environments. */
  readonly environments: ReadonlySet<string>;
  /** Whether the data of a session begins with the file of reference-data.ts. */
  readonly hasReferenceFile: boolean;
}

export interface Context {
  readonly transport: TransportKind;
  readonly token: string;
  readonly survey: Survey;
  /** A new session that has not shaken hands. Closed after the requirement. */
  connect(): Promise<Peer>;
  /** A session that has shaken hands for all that the host has, and perhaps served others before. */
  agent(): Promise<Peer>;
  /** A session like that of `agent`, but new, and of an agent of this name. */
  connectAs(agentId: string): Promise<Peer>;
  /** An open session, by its id. Not over stdio. */
  join(sessionId: string): Promise<Peer>;
  /** The HTTP door; only for requirements of that transport. */
  web(): Web;
  connectWebSocket(options?: WebSocketLinkOptions): Promise<Peer<WebSocketLink>>;
  spawn(): Promise<Peer<StdioLink>>;
}

/** The parts of a target that a transport needs. */
export interface Target {
  readonly transport: TransportKind;
  readonly openLink: OpenLink;
  readonly traffic: Traffic;
  readonly token: string;
  readonly deadlineMs: number;
  readonly web?: Web;
  readonly url?: string;
  readonly command?: string;
}

/** Opens sessions for requirements and takes them back. Sessions fit for others are lent again, which spares a process each. */
export class SessionPool {
  readonly #target: Target;
  readonly #idle: Peer[] = [];
  #opened = 0;

  constructor(target: Target) {
    this.#target = target;
  }

  async survey(): Promise<Survey> {
    const peer = await this.#open(this.#target.openLink);
    try {
      return await takeSurvey(peer, this.#target.token);
    } finally {
      await peer.close();
    }
  }

  /** Runs a requirement with sessions of its own; borrowed sessions are returned to the pool if it passes. */
  async lend(survey: Survey, run: (context: Context) => Promise<void>): Promise<void> {
    const target = this.#target;
    const own: Peer[] = [];
    const borrowed: Peer[] = [];
    const keep = async <Opened extends Peer>(opening: Promise<Opened>): Promise<Opened> => {
      const peer = await opening;
      own.push(peer);
      return peer;
    };
    const context: Context = {
      transport: target.transport,
      token: target.token,
      survey,
      connect: () => keep(this.#open(target.openLink)),
      agent: async () => {
        const peer = this.#idle.pop() ?? (await this.#openAgent(survey));
        borrowed.push(peer);
        return peer;
      },
      connectAs: async (agentId) => {
        const peer = await keep(this.#open(target.openLink));
        await shakeHands(peer, target.token, survey.granted, agentId);
        return peer;
      },
      join: (sessionId) => keep(this.#open((events) => target.openLink(events, sessionId))),
      web: () => required(target.web),
      connectWebSocket: (options) =>
        keep(
          this.#open((events) => openWebSocket(required(target.url), target.deadlineMs, events, options)),
        ) as Promise<Peer<WebSocketLink>>,
      spawn: () =>
        keep(this.#open((events) => openStdio(required(target.command), target.traffic, events))) as Promise<
          Peer<StdioLink>
        >,
    };
    let isFine = false;
    try {
      await run(context);
      isFine = true;
    } finally {
      for (const peer of borrowed) {
        if (isFine && peer.endReason === undefined) this.#idle.push(peer);
        else own.push(peer);
      }
      await Promise.all(own.map((peer) => peer.close()));
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((peer) => peer.close()));
  }

  #open<Opened extends Parameters<typeof Peer.open>[0]>(openLink: Opened): Promise<Peer<Awaited<ReturnType<Opened>>>> {
    this.#opened += 1;
    const { traffic, deadlineMs } = this.#target;
    return Peer.open(openLink, { traffic, deadlineMs, sessionNumber: this.#opened }) as Promise<
      Peer<Awaited<ReturnType<Opened>>>
    >;
  }

  async #openAgent({ granted }: Survey): Promise<Peer> {
    const peer = await this.#open(this.#target.openLink);
    await shakeHands(peer, this.#target.token, granted);
    return peer;
  }
}

function required<Value>(value: Value | undefined): Value {
  check(value !== undefined, "this requirement was run over a transport that it does not name");
  return value;
}

/** Shakes hands as an agent on the SDK does, and insists on success. */
export async function shakeHands(
  peer: Peer,
  auth_token: string,
  agent_caps: readonly string[] = ["tools"],
  agent_id = "conformance",
): Promise<Message> {
  const answer = await peer.request("handshake/req", { agent_id, agent_caps, auth_token });
  check(answer.type === "handshake/resp" && answer.ok === true, `the handshake failed: ${JSON.stringify(answer)}`);
  return answer;
}

async function takeSurvey(peer: Peer, token: string): Promise<Survey> {
  const wrong = await peer.request("handshake/req", {
    agent_id: "conformance",
    agent_caps: ["tools"],
    auth_token: `not-${token}`,
  });
  const answer = await shakeHands(peer, token, protocolCapabilities);
  const granted = asArray(answer.accepted_caps, "accepted_caps")
    .map((entry) => asObject(entry, "accepted_caps[]"))
    .filter((entry) => entry.enabled !== false)
    .map((entry) => String(entry.capability));
  const tools = new Map<string, JsonObject>();
  if (granted.includes("tools")) {
    const list = await peer.request("tool/list/req", { include_deferred: true });
    for (const tool of asArray(list.tools, "tools"))
      tools.set(String(asObject(tool, "tools[]").name), asObject(tool, "tools[]"));
  }
  const hasEnv = granted.includes("env");
  return {
    maxParallel: Number(answer.max_parallel),
    granted,
    missing: protocolCapabilities.filter((name) => !granted.includes(name)),
    tools,
    isTokenRequired: token !== "" && wrong.ok === false,
    environments: new Set(hasEnv ? await environmentsOf(peer) : []),
    hasReferenceFile: hasEnv && (await holdsReferenceFile(peer)),
  };
}

/** A host that does not list its environments is asked less, and does not fail. */
async function environmentsOf(peer: Peer): Promise<string[]> {
  const { environments } = await peer.request("env/space/req");
  return Array.isArray(environments) ? environments.map((entry) => String(asObject(entry, "environments[]").name)) : [];
}

async function holdsReferenceFile(peer: Peer): Promise<boolean> {
  const { items } = await peer.request("env/data/get/req", { query: referenceFile.name });
  return Array.isArray(items) && items.some((item) => asObject(item, "items[]").dest === referenceFile.name);
}
