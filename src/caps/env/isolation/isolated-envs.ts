// Environments whose module is loaded and run in worker threads only: one that blocks is ended at its timeout, one that
// crashes fails that call, and its episode is still where it was.
import { siblingModule } from "../../../host/workers/thread-entry.ts";
import type { WorkerPool } from "../../../host/workers/worker-pool.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import type { EnvContext, Environment } from "../define-env.ts";
import type { ModuleReference } from "../env-modules.ts";
import { envLimits } from "../limits.ts";
import { spaceFrom } from "../spaces/from-form.ts";
import type { DescribedEnv, EnvJob, EnvJobMessage, EnvJobResult } from "./env-worker.ts";

/** What the host keeps of a state that lives elsewhere. */
type IsolatedState = { saved: JsonValue; observation: JsonValue };
type Task = EnvJob extends infer Job
  ? Job extends EnvJob
    ? Omit<Job, "module" | "name" | "random" | "dataDir">
    : never
  : never;

const workerModule = siblingModule("env-worker", import.meta.url);

export async function loadIsolatedEnvs(
  module: ModuleReference,
  pool: WorkerPool,
  timeoutMs: number,
): Promise<Environment[]> {
  const job = { module: workerModule, exportName: "describeEnvs", args: module };
  const described = (await pool.run(job, { timeoutMs: envLimits.moduleLoadTimeoutMs })) as DescribedEnv[];
  return described.map((environment) => createIsolatedEnv(environment, module, pool, timeoutMs));
}

function createIsolatedEnv(
  { name, description, maxSteps, actionSpace, observationSpace, hasPlan, hasRender }: DescribedEnv,
  module: ModuleReference,
  pool: WorkerPool,
  timeoutMs: number,
): Environment {
  const run = async (task: Task, context?: EnvContext): Promise<EnvJobResult> => {
    const random = context?.random.state ?? [0, 0, 0, 0];
    const args = { module, name, random, dataDir: context?.dataDir ?? "", ...task } as EnvJob;
    const result = (await pool.run(
      { module: workerModule, exportName: "runEnv", args },
      {
        timeoutMs,
        ...(context === undefined ? {} : { signal: context.signal }),
        onMessage: (message) => context?.push((message as EnvJobMessage).event),
      },
    )) as EnvJobResult;
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
      return { state: toState(result), reward, done, truncated, info };
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
