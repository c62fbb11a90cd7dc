// The host side of the tools capability: adds tools to the catalogue, and lists and calls all tools in it.
import { AsyncResource } from "node:async_hooks";
import { lookup } from "node:dns/promises";
import { isPublicAddress } from "../../machinery/confinement/public-address.ts";
import { Workspace } from "../../machinery/confinement/workspace.ts";
import { findModules } from "../../machinery/module-loading.ts";
import { WorkerPool } from "../../machinery/threads/worker-pool.ts";
import { type Plugin, type PluginContext, plugin, type SessionContext } from "../../plugin/plugin.ts";
import type { CatalogueTool, ToolCatalogue } from "../../plugin/tool-catalogue.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { builtinNames, builtinTools } from "./builtin/all.ts";
import type { HttpSettings } from "./builtin/environment.ts";
import { watchCatalogue } from "./catalogue-watch.ts";
import { toToolDefinition } from "./definition/tool-definition.ts";
import { loadTools, toolModules, withSource } from "./definition/tool-modules.ts";
import { loadIsolatedTools } from "./isolated/isolated-tools.ts";
import { toolLimits } from "./limits.ts";
import { type ParsedToolsOptions, parseToolsOptions, type ToolsOptions } from "./options.ts";
import { type ToolDefinition, tools, toolsChanged } from "./protocol.ts";
import { callTool } from "./tool-call.ts";
import { createToolPolicy } from "./tool-policy.ts";
import { runPureTool } from "./tool-run.ts";
import { searchTools } from "./tool-search.ts";

export interface ToolsPluginOptions extends ToolsOptions {
  /** Tools defined in code, in addition to the built-in ones and those of modules. */
  tools?: Iterable<CatalogueTool>;
}

/** Creates the plugin for `type: tools` in a config. */
export function createPlugin(options: JsonObject): Plugin<typeof tools> {
  return createToolsPlugin(parseToolsOptions(options), []);
}

export function toolsPlugin({ tools: ownTools = [], ...options }: ToolsPluginOptions = {}): Plugin<typeof tools> {
  return createToolsPlugin(parseToolsOptions(options), ownTools);
}

function createToolsPlugin(options: ParsedToolsOptions, ownTools: Iterable<CatalogueTool>): Plugin<typeof tools> {
  const isAllowed = createToolPolicy(options.allow, options.deny);
  const definitions = new WeakMap<CatalogueTool, ToolDefinition>();
  /** Tools of this plugin that its policy denies: a call is answered with tool_denied and not with unknown_tool. */
  const deniedNames = new Set<string>();
  const pools: WorkerPool[] = [];
  /**
   * Runs `work` outside of any call, so it is neither audited nor recorded. Changes are grouped by timing; recorded as
   * part of a call, they could not be replayed.
   */
  const aside = AsyncResource.bind((work: () => void) => work());
  let removeTools: (() => void) | undefined;

  const define = (tool: CatalogueTool): ToolDefinition => {
    const known = definitions.get(tool);
    if (known !== undefined) return known;
    const definition = toToolDefinition(tool);
    definitions.set(tool, definition);
    return definition;
  };

  const close = async () => {
    removeTools?.();
    removeTools = undefined;
    await Promise.all(pools.splice(0).map((pool) => pool.close()));
  };

  return plugin(tools, {
    // The catalogue is shared by all plugins, so a single plugin serves it.
    exclusive: options.exclusive,
    ...(options.priority === undefined ? {} : { priority: options.priority }),

    async setup(context) {
      const contributed = [...createBuiltins(options, context, pools), ...ownTools];
      try {
        contributed.push(...(await loadModules(options, context, pools)));
        // A denied tool is not added to the catalogue either: another tools plugin with another policy may serve it.
        for (const { name } of contributed) if (!isAllowed(name)) deniedNames.add(name);
        const shown = contributed.filter(({ name }) => !deniedNames.has(name));
        removeTools = context.tools.add(shown.map((tool) => withSource(tool, context.name)));
      } catch (error) {
        await close();
        throw error;
      }
    },

    session(context: SessionContext) {
      const catalogue = context.tools;
      const settings = {
        catalogue,
        isAllowed,
        deniedNames,
        maxResultBytes: options.max_result_bytes,
        maxCollectedEvents: options.max_collected_events,
      };
      const stopWatching = watchCatalogue(catalogue, isAllowed, (change) =>
        aside(() => context.push(toolsChanged, change)),
      );
      const removeRunner = catalogue.setPureRunner((tool, args, call) => runPureTool(tool, args, call, settings));
      return {
        handlers: {
          list: (request) => ({ tools: listTools(catalogue, isAllowed, request).map(define) }),
          call: (request, call) => callTool(request, call, settings),
        },
        close() {
          stopWatching();
          removeRunner();
        },
      };
    },

    close,
  });
}

function createBuiltins(options: ParsedToolsOptions, context: PluginContext, pools: WorkerPool[]): CatalogueTool[] {
  const names = options.builtin === true ? builtinNames : options.builtin === false ? [] : options.builtin;
  const [searchPool, scriptPool] = [new WorkerPool({ log: context.log }), new WorkerPool({ log: context.log })];
  pools.push(searchPool, scriptPool);
  const environment = {
    workspace: new Workspace(context.workspaceDir),
    searchPool,
    scriptPool,
    http: toHttpSettings(options.http),
    js: { memoryMb: options.js.memory_mb, timeoutMs: options.js.timeout_ms },
  };
  return names.map((name) => ({ ...builtinTools[name](environment), source: "builtin" }));
}

function toHttpSettings({ allow_private, max_bytes, timeout_ms }: ParsedToolsOptions["http"]): HttpSettings {
  return {
    maxBytes: max_bytes,
    maxRedirects: toolLimits.httpMaxRedirects,
    timeoutMs: timeout_ms,
    resolve: (hostname) => lookup(hostname, { all: true }),
    isAllowed: allow_private ? () => true : isPublicAddress,
  };
}

async function loadModules(
  options: ParsedToolsOptions,
  context: PluginContext,
  pools: WorkerPool[],
): Promise<CatalogueTool[]> {
  const modules = await findModules([...options.modules, ...options.tool_modules], options.base_dir, toolModules);
  if (modules.length === 0) return [];
  if (options.isolation === "none") return (await Promise.all(modules.map(loadTools))).flat();
  const pool = new WorkerPool({ size: options.workers, log: context.log });
  pools.push(pool);
  return (await Promise.all(modules.map((module) => loadIsolatedTools(module, pool)))).flat();
}

interface ListRequest {
  filter_kind: string;
  filter_tags: string[];
  query: string;
  include_deferred: boolean;
}

function listTools(
  catalogue: ToolCatalogue,
  isAllowed: (name: string) => boolean,
  request: ListRequest,
): CatalogueTool[] {
  const query = request.query.trim();
  const shown = catalogue.list().filter(
    (tool) =>
      isAllowed(tool.name) &&
      // Agents find deferred tools by searching.
      (!tool.isDeferred || request.include_deferred || query !== "") &&
      (request.filter_kind === "" || tool.kind === request.filter_kind) &&
      request.filter_tags.every((tag) => tool.tags.includes(tag)),
  );
  return query === "" ? shown : searchTools(shown, query);
}
