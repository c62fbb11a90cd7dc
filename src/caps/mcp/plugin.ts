// The host side of the mcp capability: servers of the Model Context Protocol as tools, resources and prompts of a
// session.
import { type Plugin, plugin } from "../../plugin/plugin.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { Bridge } from "./bridge.ts";
import { listPrompts, listResources, listResourceTemplates } from "./content/listing.ts";
import { findOwner, getPrompt, readResource } from "./content/reading.ts";
import { type McpOptions, type ParsedMcpOptions, parseMcpOptions } from "./options.ts";
import { mcp } from "./protocol.ts";
import { SessionBridge } from "./session-bridge.ts";

/** Creates the plugin for `type: mcp` in a config. */
export function createPlugin(options: JsonObject): Plugin<typeof mcp> {
  return createMcpPlugin(parseMcpOptions(options));
}

export function mcpPlugin(options: McpOptions = {}): Plugin<typeof mcp> {
  return createMcpPlugin(parseMcpOptions(options));
}

function createMcpPlugin(options: ParsedMcpOptions): Plugin<typeof mcp> {
  let bridge: Bridge | undefined;
  return plugin(mcp, {
    exclusive: options.exclusive,
    ...(options.priority === undefined ? {} : { priority: options.priority }),

    setup(context) {
      bridge = new Bridge(context, options);
      bridge.start();
    },

    session(context) {
      if (bridge === undefined) throw new Error("the mcp plugin was not set up");
      const session = new SessionBridge(bridge, context);
      return {
        handlers: {
          registerServer: async ({ config, ...fields }, { signal }) => ({
            ok: true,
            // An empty id in `config` must not replace the id beside it, which rights were checked for.
            server: await session.register(
              { ...(fields as JsonObject), ...config, server_id: config.server_id || (fields.server_id ?? null) },
              signal,
            ),
          }),
          listServers: ({ status_filter }) => {
            const servers = session.servers.map((server) => server.info());
            return { servers: servers.filter(({ status }) => status_filter === "" || status === status_filter) };
          },
          async unregisterServer({ server_id }) {
            await session.unregister(server_id);
            return { ok: true, server_id };
          },
          async authorizeServer({ server_id, callback_url, code, state }) {
            const params = URL.canParse(callback_url)
              ? new URL(callback_url).searchParams
              : new URLSearchParams({ code, state });
            return { ok: true, server: await session.authorize(server_id, params) };
          },
          listResources: (request, { signal }) => listResources(session, request, session.caller(signal)),
          listResourceTemplates: (request, { signal }) =>
            listResourceTemplates(session, request, session.caller(signal)),
          readResource: ({ uri, server_id }, { signal }) =>
            readResource(session, uri, server_id, session.caller(signal)),
          async subscribeResource({ uri, server_id }, { signal }) {
            const find = () => session.watchedAt(uri) ?? findOwner(session, uri, session.caller(signal));
            await session.subscribe(server_id === "" ? await find() : server_id, uri, signal);
            return { ok: true };
          },
          async unsubscribeResource({ uri, server_id }, { signal }) {
            const id = server_id === "" ? session.watchedAt(uri) : server_id;
            if (id !== undefined) await session.unsubscribe(id, uri, signal);
            return { ok: true };
          },
          listPrompts: (request, { signal }) => listPrompts(session, request, session.caller(signal)),
          getPrompt: (request, { signal }) => getPrompt(session, request, session.caller(signal)),
        },
        isOutside: true,
        close: () => session.close(),
      };
    },

    async close() {
      await bridge?.close();
      bridge = undefined;
    },
  });
}
