// The requests and notifications of a server to the agents that use it.
import type { Client } from "@modelcontextprotocol/client";
import { Coalescing } from "../coalescing.ts";
import type { BridgeEnvironment } from "../environment.ts";
import { mcpLimits } from "../limits.ts";
import type { Redaction } from "../redaction.ts";
import type { Sdk } from "../sdk/sdk.ts";
import type { ServerConfig } from "../server-config.ts";
import type { TaskPort } from "../tools/task-call.ts";
import { Asks } from "./asks.ts";
import { Callers } from "./callers.ts";
import { type ListeningPort, listen, type ServerListener, soleListener } from "./listening.ts";

export interface ConversationPort {
  readonly config: ServerConfig;
  readonly environment: BridgeEnvironment;
  readonly redact: Redaction;
  listeners(): Iterable<ServerListener>;
  onToolsChanged(): void;
}

export class Conversation {
  readonly callers: Callers;
  readonly #port: ListeningPort;
  readonly #changes = new Coalescing(mcpLimits.resyncDelayMs);
  #asks: Asks | undefined;

  constructor(port: ConversationPort) {
    this.callers = new Callers(() => port.environment.clock.now());
    this.#port = {
      config: port.config,
      environment: port.environment,
      callers: this.callers,
      changes: this.#changes,
      redact: port.redact,
      listeners: () => port.listeners(),
      onToolsChanged: () => port.onToolsChanged(),
    };
  }

  attach(client: Client, sdk: Sdk): void {
    this.#asks = this.#createAsks(sdk);
    this.#asks.attach(client);
    listen(client, this.#port);
  }

  /** For tasks of a session: their requests are sent to the agent of that session only. */
  tasksOf(sessionId: string): Pick<TaskPort, "own" | "answer"> {
    return {
      own: (taskId) => this.callers.own(taskId, sessionId),
      answer: async (question, signal) => {
        if (this.#asks === undefined) throw new Error("answer() was called before the first connection");
        return this.#asks.answer(question, signal, this.#listener(sessionId));
      },
    };
  }

  stop(): void {
    this.#changes.stop();
  }

  #createAsks(sdk: Sdk): Asks {
    const { config, environment } = this.#port;
    return new Asks({
      config,
      sdk,
      timeoutMs: environment.options.ask_timeout_ms,
      agent: (taskId) => {
        const owner = taskId === undefined ? undefined : this.callers.ownerOf(taskId);
        return owner === undefined ? soleListener(this.#port) : this.#listener(owner);
      },
      onRefusal: (what, reason) =>
        environment.log.info("a request of an mcp server was refused", { server: config.id, what, reason }),
    });
  }

  #listener(sessionId: string): ServerListener | undefined {
    return [...this.#port.listeners()].find((listener) => listener.sessionId === sessionId);
  }
}
