// The host side of the toolkits capability.

import { join, resolve } from "node:path";
import type { SessionInfo } from "../../plugin/call-context.ts";
import { type Plugin, type PluginContext, plugin, type SessionContext } from "../../plugin/plugin.ts";
import { sharedTokenId } from "../../plugin/principal.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { createBuiltins } from "./builtin/all.ts";
import type { Toolkit } from "./define-toolkit.ts";
import { type ParsedToolkitsOptions, parseToolkitsOptions, type ToolkitsOptions } from "./options.ts";
import { toolkits } from "./protocol.ts";
import { createSessionHandlers } from "./session-toolkits.ts";
import { startOperatorToolkits } from "./shelf/operator-toolkits.ts";
import { seenFromSession } from "./shelf/shared-shelf.ts";
import { recordsInMemory, recordsOfHost, recordsOfSession, type ToolkitRecords } from "./shelf/toolkit-record.ts";
import { ToolkitShelf } from "./shelf/toolkit-shelf.ts";
import { loadToolkits } from "./toolkit-modules.ts";

export interface ToolkitsPluginOptions extends ToolkitsOptions {
  /** Toolkits created in code, added to the built-in ones and those of modules. */
  toolkits?: Iterable<Toolkit>;
}

/** Called for `type: toolkits` in a config. */
export function createPlugin(options: JsonObject): Plugin<typeof toolkits> {
  return createToolkitsPlugin(parseToolkitsOptions(options), []);
}

export function toolkitsPlugin({
  toolkits: own = [],
  ...options
}: ToolkitsPluginOptions = {}): Plugin<typeof toolkits> {
  return createToolkitsPlugin(parseToolkitsOptions(options), own);
}

/** Shared by all sessions of a host. */
interface Shared {
  readonly known: ReadonlyMap<string, Toolkit>;
  readonly shared: ToolkitShelf;
  readonly fixed: ToolkitShelf;
  openShelf(context: SessionContext): ToolkitShelf;
}

function createToolkitsPlugin(options: ParsedToolkitsOptions, own: Iterable<Toolkit>): Plugin<typeof toolkits> {
  let host: Shared | undefined;
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closeOne of closers.splice(0).reverse()) await closeOne();
  };

  return plugin(toolkits, {
    exclusive: options.exclusive,
    stateVersion: 1,
    ...(options.priority === undefined ? {} : { priority: options.priority }),

    async setup(context) {
      try {
        host = await setUp(options, own, context, closers);
      } catch (error) {
        await close();
        throw error;
      }
    },

    session(context) {
      if (host === undefined) throw new Error("the toolkits plugin was not set up");
      const { known, shared, fixed } = host;
      const own = host.openShelf(context);
      const handlers = createSessionHandlers({
        known,
        own,
        shared: seenFromSession(shared, context.outside),
        fixed: seenFromSession(fixed, context.outside),
        maxInstalled: options.max_installed,
        mayChangeShared: (session) => isAdmin(session, options.shared_admins),
      });
      return { handlers, close: () => own.close() };
    },

    close,
  });
}

/**
 * Only an authenticated agent can be an admin, by the id of its principal or, with the shared token, by its own name. `*` is
 * for hosts that trust all agents alike.
 */
function isAdmin({ principal }: SessionInfo, admins: readonly string[]): boolean {
  return (
    admins.includes("*") ||
    (principal.isAuthenticated && admins.includes(principal.id === sharedTokenId ? principal.agentId : principal.id))
  );
}

async function setUp(
  options: ParsedToolkitsOptions,
  own: Iterable<Toolkit>,
  context: PluginContext,
  closers: (() => Promise<void>)[],
): Promise<Shared> {
  const { workspaceDir, log, secrets } = context;
  const builtins = createBuiltins(options, context);
  closers.push(() => builtins.close());
  const known = new Map<string, Toolkit>();
  for (const toolkit of [...own, ...builtins.toolkits, ...(await loadToolkits(options.modules, options.base_dir))]) {
    if (known.has(toolkit.name)) throw new Error(`two toolkits are called "${toolkit.name}"`);
    known.set(toolkit.name, toolkit);
  }
  const dataDir = join(resolve(context.dataDir), "toolkits");
  const environment = { workspaceDir: resolve(workspaceDir), dataDir, log, startTimeoutMs: options.start_timeout_ms };
  const openShelf = (records: ToolkitRecords, catalogue: PluginContext["tools"]) =>
    new ToolkitShelf({ toolkits: known, catalogue, records, secrets, environment });
  const isShared = [...known.values()].some(({ scope }) => scope === "host");
  const fixed = openShelf(recordsInMemory(), context.tools);
  closers.push(() => fixed.close());
  if (!context.isReplay) {
    const stopRetrying = await startOperatorToolkits(fixed, options, known, log);
    closers.push(async () => stopRetrying());
  }
  const shared = openShelf(isShared ? recordsOfHost(context.database) : recordsInMemory(), context.tools);
  closers.push(() => shared.close());
  return {
    known,
    shared,
    fixed,
    openShelf: ({ state, tools: catalogue, outside }) =>
      new ToolkitShelf({ toolkits: known, catalogue, records: recordsOfSession(state), secrets, environment, outside }),
  };
}
