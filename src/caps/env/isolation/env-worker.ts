// The half of isolated environments that runs in a worker thread. It has no state between calls: the state of the
// episode comes with each call and is returned with its result, so a thread that dies loses no episode.
import type { ModuleReference } from "../../../machinery/module-loading.ts";
import type { WorkerContext } from "../../../machinery/threads/worker-entry.ts";
import { copyJson, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import type { EnvContext, EnvEvent, Environment, StepResult } from "../define-env.ts";
import { loadEnvironments } from "../env-modules.ts";
import { writeState } from "../episodes/state-checks.ts";
import { envLimits } from "../limits.ts";
import { type RandomState, SeededRandom } from "../random.ts";

/** The data of an environment that can be sent from a thread, without its functions. */
export interface DescribedEnv {
  name: string;
  description: string;
  maxSteps: number | undefined;
  actionSpace: JsonObject;
  observationSpace: JsonObject;
  hasPlan: boolean;
  hasRender: boolean;
}

interface Subject {
  module: ModuleReference;
  name: string;
  random: RandomState;
  dataDir: string;
}

export type EnvJob = Subject &
  (
    | { what: "reset"; seed: number; options: JsonObject }
    | { what: "step"; saved: JsonValue; action: unknown }
    | { what: "render"; saved: JsonValue; mode: string }
    | { what: "plan"; saved: JsonValue }
  );

export type EnvJobMessage = { event: EnvEvent };

export interface EnvJobResult {
  random: RandomState;
  saved: JsonValue;
  observation: JsonValue;
  /** Null if the reward was not a number. */
  reward: number | null;
  done: boolean;
  truncated: boolean;
  info: JsonObject;
  /** The result of `render` or `plan`. */
  value: JsonValue;
}

export async function describeEnvs(module: ModuleReference): Promise<DescribedEnv[]> {
  return (await loadEnvironments(module)).map((environment) => ({
    name: environment.name,
    description: environment.description ?? "",
    maxSteps: environment.maxSteps,
    actionSpace: environment.actionSpace.form,
    observationSpace: environment.observationSpace.form,
    hasPlan: environment.plan !== undefined,
    hasRender: environment.render !== undefined,
  }));
}

export async function runEnv(job: EnvJob, worker: WorkerContext): Promise<EnvJobResult> {
  const environments = await loadEnvironments(job.module);
  const environment = environments.find(({ name }) => name === job.name);
  if (environment === undefined) throw new Error(`${job.module.name} no longer exports "${job.name}"`);
  const random = SeededRandom.from(job.random);
  const context: EnvContext = { random, dataDir: job.dataDir, signal: worker.signal, push: createPush(worker) };
  let state = await open(environment, job, context);
  try {
    const {
      value = null,
      reward = 0,
      done = false,
      truncated = false,
      info = {},
      ...rest
    } = await run(environment, job, state, context);
    if (rest.state !== undefined) state = rest.state;
    const shown = environment.observe === undefined ? state : environment.observe(state);
    const saved = writeState(environment, state);
    const result = { random: random.state, saved, observation: shown, reward, done, truncated, info, value };
    return copyJson(result) as EnvJobResult;
  } finally {
    letGo(environment, state);
  }
}

/** As in the host, a `close` that throws does not fail the call. The worker's console goes to the log of the host. */
function letGo(environment: Environment, state: unknown): void {
  try {
    environment.close?.(state);
  } catch (error) {
    console.warn(`environment "${environment.name}" threw in close():`, error);
  }
}

/**
 * Limits the events of one call, so that an endless loop of pushes fails instead of filling the memory of the host.
 */
function createPush(worker: WorkerContext): EnvContext["push"] {
  const { maxPushesPerCall } = envLimits;
  let count = 0;
  return (event) => {
    count += 1;
    if (count > maxPushesPerCall) throw new Error(`it pushed more than ${maxPushesPerCall} events in one call`);
    worker.send({ event: copyJson(event) } satisfies EnvJobMessage);
  };
}

interface StepOutcome extends StepResult<unknown> {
  value?: unknown;
}

async function open(environment: Environment, job: EnvJob, context: EnvContext): Promise<unknown> {
  if (job.what !== "reset")
    return environment.restore === undefined ? job.saved : environment.restore(job.saved, context);
  const { seed, options } = job;
  return environment.reset({ ...context, seed, options });
}

async function run(environment: Environment, job: EnvJob, state: unknown, context: EnvContext): Promise<StepOutcome> {
  switch (job.what) {
    case "reset":
      return {};
    case "step":
      return environment.step(state, job.action, context);
    case "render":
      return { value: await environment.render?.(state, job.mode) };
    case "plan":
      return { value: await environment.plan?.(state) };
  }
}
