// The tools of one server in a catalogue. Unchanged tools stay, so that agents are notified only of changes.
import type { Tool } from "@modelcontextprotocol/client";
import { isLargerThan } from "../../../machinery/validation/json-size.ts";
import type { CallContext } from "../../../plugin/call-context.ts";
import type { CatalogueTool, ToolCatalogue } from "../../../plugin/tool-catalogue.ts";
import type { ToolOutput } from "../../../plugin/tool-output.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { mcpLimits } from "../limits.ts";
import { isOnList } from "../patterns.ts";
import { cut } from "../problems.ts";
import type { ServerConfig } from "../server-config.ts";
import { toolNameOf } from "./tool-names.ts";

export type RunTool = (tool: Tool, args: JsonObject, context: CallContext) => Promise<ToolOutput>;

interface Added {
  readonly definition: string;
  remove(): void;
}

export class ServerTools {
  readonly #config: ServerConfig;
  readonly #catalogue: ToolCatalogue;
  readonly #run: RunTool;
  readonly #added = new Map<string, Added>();
  /** Names of tools that could not be added because other tools have them. */
  collisions: string[] = [];
  /** Number of tools beyond `maxTools` that were left out. */
  leftOut = 0;

  constructor(config: ServerConfig, catalogue: ToolCatalogue, run: RunTool) {
    this.#config = config;
    this.#catalogue = catalogue;
    this.#run = run;
  }

  get size(): number {
    return this.#added.size;
  }

  /** Replaces the tools of this server in the catalogue by `tools`. */
  update(tools: readonly Tool[], version: string): void {
    const { id, toolAllowList } = this.#config;
    const wanted = new Map<string, Tool>();
    const collisions: string[] = [];
    for (const tool of tools.slice(0, mcpLimits.maxTools)) {
      const name = toolNameOf(id, tool.name);
      if (!isOnList(toolAllowList, tool.name) && !isOnList(toolAllowList, name)) continue;
      if (wanted.has(name)) collisions.push(name);
      else wanted.set(name, tool);
    }
    for (const [name, { remove }] of this.#added) {
      if (wanted.has(name)) continue;
      this.#added.delete(name);
      remove();
    }
    for (const [name, tool] of wanted) {
      const definition = JSON.stringify([tool, version]);
      const known = this.#added.get(name);
      if (known?.definition === definition) continue;
      known?.remove();
      this.#added.delete(name);
      try {
        const remove = this.#catalogue.add([toCatalogueTool(name, tool, version, this.#config, this.#run)]);
        this.#added.set(name, { definition, remove });
      } catch {
        collisions.push(name);
      }
    }
    this.collisions = collisions;
    this.leftOut = Math.max(0, tools.length - mcpLimits.maxTools);
  }

  clear(): void {
    for (const { remove } of this.#added.values()) remove();
    this.#added.clear();
  }
}

function toCatalogueTool(
  name: string,
  tool: Tool,
  version: string,
  { id, timeoutMs }: ServerConfig,
  run: RunTool,
): CatalogueTool {
  const { annotations = {}, title } = tool;
  const outputSchema = tool.outputSchema === undefined ? undefined : toSchema(tool.outputSchema as JsonObject);
  return {
    name,
    description: cut(tool.description ?? title ?? ""),
    kind: "mcp",
    tags: ["mcp", id],
    version,
    inputSchema: toSchema(tool.inputSchema as unknown as JsonObject),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    isIdempotent: annotations.idempotentHint === true || annotations.readOnlyHint === true,
    isStreaming: true,
    isDeferred: false,
    source: `mcp:${id}`,
    isOutside: true,
    annotations: { ...(title === undefined ? {} : { title }), ...annotations } as JsonObject,
    timeoutMs,
    // The server validates its own input; createClient() in connection.ts explains why its schema is not run here.
    check: (value) => ({ value }),
    run: (args, context) => run(tool, args, context),
  };
}

function toSchema(schema: JsonObject): JsonObject {
  return isLargerThan(schema, mcpLimits.maxSchemaBytes) ? { type: "object" } : schema;
}
