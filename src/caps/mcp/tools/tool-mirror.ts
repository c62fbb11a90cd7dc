// Keeps the tools of a server in a catalogue up to date: the last known tools until it is connected, and a new list
// whenever the server reports a change.
import type { Tool } from "@modelcontextprotocol/client";
import type { ToolCatalogue } from "../../../plugin/tool-catalogue.ts";
import { Coalescing } from "../coalescing.ts";
import type { BridgeEnvironment } from "../environment.ts";
import { mcpLimits } from "../limits.ts";
import type { Connection } from "../server/connection.ts";
import type { ServerConfig } from "../server-config.ts";
import { type RunTool, ServerTools } from "./server-tools.ts";
import type { ToolCache } from "./tool-cache.ts";

export interface MirrorPort {
  readonly config: ServerConfig;
  readonly environment: BridgeEnvironment;
  readonly catalogue: ToolCatalogue;
  readonly cache: ToolCache;
  readonly connection: () => Connection | undefined;
  readonly run: RunTool;
  report(what: string, error: Error): void;
}

export class ToolMirror {
  readonly #port: MirrorPort;
  readonly #tools: ServerTools;
  readonly #changes = new Coalescing(mcpLimits.resyncDelayMs);
  #listing: Promise<void> | undefined;
  #isStale = false;

  constructor(port: MirrorPort) {
    this.#port = port;
    this.#tools = new ServerTools(port.config, port.catalogue, port.run);
  }

  get size(): number {
    return this.#tools.size;
  }

  get collisions(): readonly string[] {
    return this.#tools.collisions;
  }

  /** Shows the last known tools; false if there are none. */
  showRemembered(): boolean {
    const { cache, config } = this.#port;
    const remembered = cache.get(config);
    if (remembered === undefined) return false;
    this.#show(remembered.tools, remembered.version);
    return true;
  }

  learn(tools: readonly Tool[], { client }: Connection): void {
    const { cache, config } = this.#port;
    const version = client.getServerVersion()?.version ?? "";
    this.#show(tools, version);
    cache.set(config, { tools, version });
  }

  /** Lists the tools again; repeated requests are merged. */
  syncSoon(): void {
    this.#changes.say("tools", () => {
      // One list at a time: of two at once, the older could arrive last.
      this.#isStale = true;
      this.#listing ??= this.#listWhileStale().finally(() => {
        this.#listing = undefined;
      });
    });
  }

  stop(): void {
    this.#changes.stop();
  }

  clear(): void {
    this.stop();
    this.#tools.clear();
  }

  async #listWhileStale(): Promise<void> {
    const { environment, report } = this.#port;
    const options = { cacheMode: "refresh", timeout: environment.options.connect_timeout_ms } as const;
    while (this.#isStale) {
      this.#isStale = false;
      const connection = this.#port.connection();
      if (connection === undefined) return;
      try {
        const { tools } = await connection.client.listTools(undefined, options);
        if (this.#port.connection() === connection) this.learn(tools, connection);
      } catch (error) {
        report("the tools of an mcp server could not be listed", error as Error);
      }
    }
  }

  #show(tools: readonly Tool[], version: string): void {
    const { environment, config } = this.#port;
    this.#tools.update(tools, version);
    const { collisions, leftOut } = this.#tools;
    const server = config.id;
    if (collisions.length > 0)
      environment.log.warn("mcp tools are left out: their names are taken", { server, collisions });
    if (leftOut > 0)
      environment.log.warn("mcp tools are left out: there are too many", {
        server,
        left_out: leftOut,
        limit: mcpLimits.maxTools,
      });
  }
}
