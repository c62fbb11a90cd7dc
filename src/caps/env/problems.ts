// The errors of the env capability.

import { nearest } from "../../machinery/nearest.ts";
import { A2EError, coreErrors, messageOf } from "../../protocol/errors.ts";
import type { JsonValue } from "../../protocol/json.ts";
import type { Environment } from "./define-env.ts";
import { env } from "./protocol.ts";

/** Throw this in `reset` of an environment if its options are not valid. */
export function resetDenied(message: string): A2EError {
  return env.error("reset_denied", message);
}

/** Throw this in `step` of an environment if the action is in the action space but not allowed in this state. */
export function unknownAction(message: string, allowed: JsonValue): A2EError {
  return env.error("unknown_action", message, { detail: { allowed } });
}

export function notInSpace(environment: Environment, action: JsonValue): A2EError {
  const shown = JSON.stringify(action);
  const found = shown.length > 80 ? `${shown.slice(0, 80)}…` : shown;
  const { form, schema } = environment.actionSpace;
  return env.error(
    "unknown_action",
    `${found} is not an action of "${environment.name}"; \`detail.allowed\` describes its actions`,
    {
      detail: { env_name: environment.name, allowed: form, schema },
    },
  );
}

export function noActiveEpisode(episode_id: string): A2EError {
  const which = episode_id === "" ? "" : `: this session has no episode "${episode_id.slice(0, 64)}"`;
  const detail = episode_id === "" ? {} : { episode_id: episode_id.slice(0, 64) };
  return env.error("runtime_error", `No active episode${which}; reset an environment first`, {
    retryable: false,
    detail,
  });
}

export function episodeCompleted(episode_id: string): A2EError {
  return env.error("runtime_error", "Episode already completed; reset to start another", {
    retryable: false,
    detail: { episode_id },
  });
}

export function unknownEnv(name: string, known: readonly string[]): A2EError {
  const meant = nearest(name, known);
  const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
  return env.error("unknown_env", `this host has no environment "${name.slice(0, 64)}"${hint}`, {
    detail: { available: [...known] },
  });
}

/**
 * Passes on an `A2EError` whose code the core or this capability declares. Any other error becomes a `runtime_error`
 * with its message, which the agent may read.
 */
export function toEnvError(thrown: unknown, environment: Environment): A2EError {
  if (thrown instanceof A2EError && (Object.hasOwn(coreErrors, thrown.code) || Object.hasOwn(env.errors, thrown.code)))
    return thrown;
  const text = messageOf(thrown);
  return env.error("runtime_error", `environment "${environment.name}" failed: ${text}`, { cause: thrown });
}
