// What a plugin is given, with nothing behind it; tests of plugins put in what they need.
import { silentLogger } from "../logger.ts";
import type { PluginContext, SessionContext } from "../plugin.ts";
import { noDatabase } from "../ports/no-database.ts";
import { noSandboxes } from "../ports/sandbox.ts";
import { createKey, createSecrets } from "../ports/secrets.ts";
import { anonymous } from "../principal.ts";
import { LayeredState } from "../state/layered-state.ts";
import { ToolCatalogue } from "../tool-catalogue.ts";
import { runOutside } from "./part-context.ts";

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
