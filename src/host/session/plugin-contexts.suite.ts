// What a plugin is given, with nothing behind it; tests of plugins put in what they need.

import { LayeredState } from "../../machinery/state/layered-state.ts";
import { silentLogger } from "../../plugin/logger.ts";
import type { PluginContext, SessionContext } from "../../plugin/plugin.ts";
import { runOutside } from "../../plugin/plugin.ts";
import { noDatabase } from "../../plugin/ports/no-database.ts";
import { noSandboxes } from "../../plugin/ports/sandbox.ts";
import { createKey, createSecrets } from "../../plugin/ports/secrets.ts";
import { anonymous } from "../../plugin/principal.ts";
import { ToolCatalogue } from "../../plugin/tool-catalogue.ts";

const clock = { now: () => 1_000_000 };

export function createPluginContext(given: Partial<PluginContext> & Pick<PluginContext, "name">): PluginContext {
  return {
    dataDir: ".",
    workspaceDir: ".",
    log: silentLogger,
    clock,
    database: noDatabase,
    tools: new ToolCatalogue(),
    sandboxes: noSandboxes,
    secrets: createSecrets(createKey()),
    isReplay: false,
    ...given,
  };
}

export function createSessionContext(given: Partial<SessionContext> = {}): SessionContext {
  let ids = 0;
  return {
    session: { id: "session-1", principal: anonymous },
    log: silentLogger,
    clock,
    nextId: () => {
      ids += 1;
      return `id-${ids}`;
    },
    random: () => 0.5,
    state: new LayeredState(),
    tools: new ToolCatalogue(),
    push() {},
    unsentBytes: () => 0,
    ask: () => Promise.reject(new Error("no agent here")),
    outside: runOutside,
    fromOutside: (receive) => receive,
    call: () => Promise.reject(new Error("no other capability here")),
    ...given,
  };
}
