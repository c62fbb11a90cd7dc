// The errors of this capability, worded once.
import { A2EError, coreErrors, messageOf } from "../../protocol/errors.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { nearest } from "../../protocol/nearest.ts";
import type { Environment } from "./define-env.ts";
import { env } from "./protocol.ts";

/** What `reset` of an environment throws where its options make no sense. */
export function resetDenied(message: string): A2EError {
  return env.error("reset_denied", message);
}

/** What `step` of an environment throws for an action that its space has and its state does not allow. */
export function unknownAction(message: string, allowed: JsonValue): A2EError {
  return env.error("unknown_action", message, { detail: { allowed } });
}

export function notInSpace(environment: Environment, action: JsonValue): A2EError {
  const shown = JSON.stringify(action);
  const found = shown.length > 80 ? `${shown.slice(0, 80)}…` : shown;
  const { form, schema } = environment.actionSpace;
  return env.error(
    "unknown_action",
    `${found} is no action of "${environment.name}"; \`detail.allowed\` says which are`,
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

/** What an environment throws is its own affair, and the agent's to read; a code that the table knows keeps its meaning. */
export function toEnvError(thrown: unknown, environment: Environment): A2EError {
  if (thrown instanceof A2EError && (Object.hasOwn(coreErrors, thrown.code) || Object.hasOwn(env.errors, thrown.code)))
    return thrown;
  const text = messageOf(thrown);
  return env.error("runtime_error", `environment "${environment.name}" failed: ${text}`, { cause: thrown });
}
