// The host side of the proc capability.
import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { type Plugin, plugin } from "../../plugin/plugin.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { createHandlers, type Outside } from "./handlers.ts";
import { type ParsedProcOptions, type ProcOptions, parseProcOptions } from "./options.ts";
import { ProcessTable } from "./process-table.ts";
import { proc } from "./protocol.ts";
import { Workshop } from "./start/workshop.ts";

/** Creates the plugin for `type: proc` in a config. */
export function createPlugin(options: JsonObject): Plugin<typeof proc> {
  return createProcPlugin(parseProcOptions(options));
}

export function procPlugin(options: ProcOptions = {}): Plugin<typeof proc> {
  return createProcPlugin(parseProcOptions(options));
}

function createProcPlugin(options: ParsedProcOptions): Plugin<typeof proc> {
  let workshop: Workshop | undefined;
  // Bound outside of any call: processes do not run on behalf of a call.
  const outside: Outside = AsyncResource.bind((work) => work());
  return plugin(proc, {
    exclusive: options.exclusive,
    stateVersion: 1,
    // A running process cannot be copied: a fork starts without the capability, and its agent may negotiate it again.
    forking: "refused",
    ...(options.priority === undefined ? {} : { priority: options.priority }),

    setup(context) {
      // From the system and not from the host's own random source: it must differ from every other host on this
      // machine.
      workshop = new Workshop(options, context, process.env, randomUUID().replaceAll("-", ""));
    },

    session(context) {
      if (workshop === undefined) throw new Error("the plugin is not set up");
      const table = new ProcessTable(workshop, context);
      const handlers = createHandlers({ context, workshop, table, outside });
      return { handlers, isOutside: true, close: () => table.close() };
    },

    close: () => workshop?.close(),
  });
}
