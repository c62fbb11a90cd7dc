// Plugins of a host that records or replays: their contexts reach the world outside through the tape of the session.
import { type CallContext, replaceIn } from "../plugin/call-context.ts";
import type { LoadedPlugin, Plugin, SessionContext, SessionPart } from "../plugin/plugin.ts";
import { isThenable } from "../protocol/awaitable.ts";
import { recordDatabase } from "./recorded-ports.ts";
import type { Scopes, Tape, Tapes } from "./tape.ts";

interface PluginsEdge {
  readonly scopes: Scopes;
  readonly tapes: Tapes;
  readonly isReplay: boolean;
}

export function recordPlugin(loaded: LoadedPlugin, { scopes, tapes, isReplay }: PluginsEdge): LoadedPlugin {
  const { plugin } = loaded;
  const recorded: Plugin = {
    capability: plugin.capability,
    ...(plugin.stateVersion === undefined ? {} : { stateVersion: plugin.stateVersion }),
    ...(plugin.forking === undefined ? {} : { forking: plugin.forking }),
    setup: (context) => plugin.setup?.({ ...context, database: recordDatabase(context.database, scopes), isReplay }),
    session(context) {
      const tape = tapes.get(context.session.id);
      tape?.opening(context);
      const part = plugin.session(recordContext(context, scopes, tape));
      if (tape === undefined) return part;
      if (!isThenable(part)) return noteOutside(plugin, part, tape);
      return Promise.resolve(part).then((opened) => noteOutside(plugin, opened, tape));
    },
    close: () => plugin.close?.(),
  };
  return { ...loaded, plugin: recorded };
}

function noteOutside({ capability }: Plugin, part: SessionPart, tape: Tape): SessionPart {
  // A plugin may return anything; the kernel refuses a part without handlers.
  if ((part as SessionPart | undefined)?.isOutside === true) tape.outside.add(capability.name);
  return part;
}

function recordContext(context: SessionContext, scopes: Scopes, tape: Tape | undefined): SessionContext {
  return replaceIn<SessionContext>(context, {
    get tools() {
      const { tools } = context;
      tape?.showTools(tools);
      return tools;
    },
    // Other sessions may act on behalf of this call: so the current scope decides, not the session.
    outside: ((work: (call?: CallContext) => unknown, call?: CallContext) => {
      const current = scopes.getStore()?.tape;
      if (current === undefined) return work(call);
      return call === undefined ? current.effect("outside", work) : runLikeTool(current, work, call);
    }) as SessionContext["outside"],
    fromOutside: (receive, asWritten) => scopes.getStore()?.tape.fromOutside(receive, asWritten) ?? receive,
  });
}

/** Recorded like the output of a tool, whose result is in `data`. */
async function runLikeTool(tape: Tape, work: (call: CallContext) => unknown, call: CallContext): Promise<unknown> {
  const output = await tape.effect("tool", async (watched) => ({ data: await work(watched) }), call);
  return output.data;
}
