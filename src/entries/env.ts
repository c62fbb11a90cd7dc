// The public subpath `a2e/env`: define environments, and the plugin that serves them.
export {
  defineEnv,
  type EnvContext,
  type EnvEvent,
  type Environment,
  type EnvSpec,
  type ResetContext,
  type StepResult,
} from "../caps/env/define-env.ts";
export { envLimits } from "../caps/env/limits.ts";
export { type EnvPluginOptions, envPlugin } from "../caps/env/plugin.ts";
export { resetDenied, unknownAction } from "../caps/env/problems.ts";
export { type Experience, env, type Observation } from "../caps/env/protocol.ts";
export { SeededRandom } from "../caps/env/random.ts";
export { box } from "../caps/env/spaces/box.ts";
export { actions, dict, tuple } from "../caps/env/spaces/composite.ts";
export { choice, discrete, multiBinary, multiDiscrete } from "../caps/env/spaces/discrete.ts";
export { spaceFrom } from "../caps/env/spaces/from-form.ts";
export { optional, type Space, type ValueOf } from "../caps/env/spaces/space.ts";
export { text } from "../caps/env/spaces/text.ts";
