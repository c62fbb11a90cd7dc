// The env plugin with sessions that the tests create themselves: the state of a session can be passed to another one,
// as in a restart or a fork.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPluginContext, createSessionContext } from "../../host/session/plugin-contexts.suite.ts";
import { LayeredState } from "../../machinery/state/layered-state.ts";
import type { CallContext } from "../../plugin/call-context.ts";
import { anonymous } from "../../plugin/principal.ts";
import type { Clock } from "../../protocol/envelope.ts";
import type { RequestInputOf, ResultInputOf } from "../../protocol/table/capability.ts";
import { type EnvPluginOptions, envPlugin } from "./plugin.ts";
import { env } from "./protocol.ts";

type Calls = (typeof env)["calls"];

export async function startEnv(options: EnvPluginOptions = {}, clock: Clock = { now: () => 1_000_000 }) {
  const folder = await mkdtemp(join(tmpdir(), "a2e-env-"));
  const plugin = envPlugin(options);
  const close = async () => {
    await plugin.close?.();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const dataDir = join(folder, "data");
    await plugin.setup?.(createPluginContext({ name: "env", dataDir, workspaceDir: join(folder, "workspace"), clock }));
  } catch (error) {
    await close();
    throw error;
  }
  let ids = 0;
  let sessions = 0;
  return {
    folder,
    async open({ state = new LayeredState(), granted = ["env"] }: { state?: LayeredState; granted?: string[] } = {}) {
      const pushed: unknown[] = [];
      sessions += 1;
      const session = { id: `session-${sessions}`, principal: anonymous, granted: new Set(granted) };
      const context = createSessionContext({
        session,
        state,
        nextId: () => {
          ids += 1;
          return `id-${ids}`;
        },
        random: () => 0.25,
        push: (_push, payload) => void pushed.push(payload),
      });
      const part = await plugin.session(context);
      /** Returns the raw outcome of the handler: a value or a promise. */
      const handle = <Name extends keyof Calls>(
        name: Name,
        request: RequestInputOf<Calls[Name]>,
        { signal }: { signal: AbortSignal } = new AbortController(),
      ) => {
        const parsed = env.calls[name].request.parse(request);
        const caller = {
          signal,
          get isEnded() {
            return signal.aborted;
          },
        };
        return part.handlers[name](parsed as never, caller as CallContext) as ResultInputOf<Calls[Name]>;
      };
      return {
        state,
        part,
        pushed,
        handle,
        call: async <Name extends keyof Calls>(
          name: Name,
          request: RequestInputOf<Calls[Name]>,
          caller?: { signal: AbortSignal },
        ) => handle(name, request, caller),
      };
    },
    [Symbol.asyncDispose]: close,
  };
}

/** A state as a restart finds it: written as JSON and read again. */
export function reload(state: LayeredState): LayeredState {
  const entries = JSON.parse(JSON.stringify([...state.entries()])) as [string, never][];
  const fresh = new LayeredState();
  fresh.replace(entries);
  return fresh;
}
