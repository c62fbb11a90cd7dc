// The public subpath `a2e/env`: define environments, and the plugin that serves them.
export {
  defineEnv,
  type EnvContext,
  type EnvEvent,
  type Environment,
  type EnvSpec,
  type ResetContext,
  type StepResult,
} from "./define-env.ts";
export { envLimits } from "./limits.ts";
export { type EnvPluginOptions, envPlugin } from "./plugin.ts";
export { resetDenied, unknownAction } from "./problems.ts";
export { type Experience, env, type Observation } from "./protocol.ts";
export { SeededRandom } from "./random.ts";
export { box } from "./spaces/box.ts";
export { actions, dict, tuple } from "./spaces/composite.ts";
export { choice, discrete, multiBinary, multiDiscrete } from "./spaces/discrete.ts";
export { spaceFrom } from "./spaces/from-form.ts";
export { optional, type Space, type ValueOf } from "./spaces/space.ts";
export { text } from "./spaces/text.ts";
