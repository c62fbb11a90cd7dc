// The part of isolated environments that runs in a worker. It keeps nothing: the state comes with each call and goes back
// with its result, so a thread that dies takes no episode with it.
import type { WorkerContext } from "../../host/workers/worker-entry.ts";
import { copyJson, type JsonObject, type JsonValue } from "../../protocol/json.ts";
import type { EnvContext, EnvEvent, Environment } from "./define-env.ts";
import { loadEnvironments, type ModuleReference } from "./env-modules.ts";
import { type RandomState, SeededRandom } from "./random.ts";

/** An environment without its functions: what can leave a thread. */
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
  reward: number;
  done: boolean;
  truncated: boolean;
  info: JsonObject;
  /** What render or plan came to. */
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
  const context: EnvContext = {
    random,
    dataDir: job.dataDir,
    push: (event) => worker.send({ event: copyJson(event) } satisfies EnvJobMessage),
  };
  const outcome = await run(environment, job, context);
  const { state, value = null, reward = 0, done = false, truncated = false, info = {} } = outcome;
  const shown = environment.observe === undefined ? state : environment.observe(state);
  const saved = environment.snapshot === undefined ? state : environment.snapshot(state);
  const result = { random: random.state, saved, observation: shown, reward, done, truncated, info, value };
  environment.close?.(state);
  return copyJson(result) as EnvJobResult;
}

interface Outcome {
  state: unknown;
  value?: unknown;
  reward?: number;
  done?: boolean;
  truncated?: boolean;
  info?: JsonObject;
}

async function run(environment: Environment, job: EnvJob, context: EnvContext): Promise<Outcome> {
  if (job.what === "reset") {
    const { seed, options } = job;
    return { state: await environment.reset({ ...context, seed, options }) };
  }
  const state = environment.restore === undefined ? job.saved : await environment.restore(job.saved, context);
  switch (job.what) {
    case "step":
      return { state, ...(await environment.step(state, job.action, context)) };
    case "render":
      return { state, value: await environment.render?.(state, job.mode) };
    case "plan":
      return { state, value: await environment.plan?.(state) };
  }
}
