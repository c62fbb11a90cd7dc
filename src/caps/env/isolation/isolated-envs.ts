// Environments whose module is loaded and run in worker threads only. A call that blocks is ended at its timeout and a
// call that crashes fails; in both cases the episode keeps the state that it had before the call.
import { AsyncResource } from "node:async_hooks";
import type { ModuleReference } from "../../../machinery/module-loading.ts";
import { siblingModule } from "../../../machinery/threads/thread-entry.ts";
import type { WorkerPool } from "../../../machinery/threads/worker-pool.ts";
import type { SessionContext } from "../../../plugin/plugin.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import type { EnvContext, Environment } from "../define-env.ts";
import { envLimits } from "../limits.ts";
import { spaceFrom } from "../spaces/from-form.ts";
import type { DescribedEnv, EnvJob, EnvJobMessage, EnvJobResult } from "./env-worker.ts";

/** The state of an isolated episode as the host stores it: the environment's own state stays JSON here. */
type IsolatedState = { saved: JsonValue; observation: JsonValue };
type Task = EnvJob extends infer Job
  ? Job extends EnvJob
    ? Omit<Job, "module" | "name" | "random" | "dataDir">
    : never
  : never;

const workerModule = siblingModule("env-worker", import.meta.url);

/** Creates an environment that runs in worker threads, for one session. */
export type IsolatedEnv = (session: Pick<SessionContext, "session" | "outside">) => Environment;

export async function loadIsolatedEnvs(
  module: ModuleReference,
  pool: WorkerPool,
  timeoutMs: number,
): Promise<IsolatedEnv[]> {
  const job = { module: workerModule, exportName: "describeEnvs", args: module };
  const described = (await pool.run(job, { timeoutMs: envLimits.moduleLoadTimeoutMs })) as DescribedEnv[];
  return described.map((environment) => {
    return (session) => createIsolatedEnv(environment, module, session, pool, timeoutMs);
  });
}

function createIsolatedEnv(
  { name, description, maxSteps, actionSpace, observationSpace, hasPlan, hasRender }: DescribedEnv,
  module: ModuleReference,
  { session: { id: owner }, outside }: Parameters<IsolatedEnv>[0],
  pool: WorkerPool,
  timeoutMs: number,
): Environment {
  // A crash or a timeout of a thread does not repeat itself in a replay, so the result comes from `outside`.
  const run = async (task: Task, context?: EnvContext): Promise<EnvJobResult> => {
    const random = context?.random.state ?? [0, 0, 0, 0];
    const args = { module, name, random, dataDir: context?.dataDir ?? "", ...task } as EnvJob;
    const result = await outside(() => {
      // The thread was started by another call, so the events are bound to the async context of this call.
      const push = AsyncResource.bind(({ event }: EnvJobMessage) => context?.push(event));
      return pool.run(
        { module: workerModule, exportName: "runEnv", args },
        {
          owner,
          timeoutMs,
          ...(context === undefined ? {} : { signal: context.signal }),
          onMessage: (message) => push(message as EnvJobMessage),
        },
      ) as Promise<EnvJobResult>;
    });
    if (context !== undefined) context.random.state = result.random;
    return result;
  };
  const toState = ({ saved, observation }: EnvJobResult): IsolatedState => ({ saved, observation });
  return {
    name,
    description,
    ...(maxSteps === undefined ? {} : { maxSteps }),
    actionSpace: spaceFrom(actionSpace),
    observationSpace: spaceFrom(observationSpace),
    async reset(context) {
      const { seed, options } = context;
      return toState(await run({ what: "reset", seed, options }, context));
    },
    async step(state, action, context) {
      const result = await run({ what: "step", saved: (state as IsolatedState).saved, action }, context);
      const { reward, done, truncated, info } = result;
      return { state: toState(result), reward: reward ?? Number.NaN, done, truncated, info };
    },
    observe: (state) => (state as IsolatedState).observation,
    ...(hasRender
      ? {
          render: async (state: unknown, mode: string) =>
            (await run({ what: "render", saved: (state as IsolatedState).saved, mode })).value,
        }
      : {}),
    ...(hasPlan
      ? {
          plan: async (state: unknown) =>
            (await run({ what: "plan", saved: (state as IsolatedState).saved })).value as JsonValue[],
        }
      : {}),
  };
}
