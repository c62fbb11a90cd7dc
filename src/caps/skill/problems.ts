// The errors of the skill capability.

import { nearest } from "../../machinery/nearest.ts";
import { problemsToText } from "../../machinery/validation/problem-text.ts";
import type { ToolProblem } from "../../plugin/tool-catalogue.ts";
import { A2EError } from "../../protocol/errors.ts";
import { skill } from "./protocol.ts";

const maxShown = 128;

export function unknownSkill(name: string, known: readonly string[]): A2EError {
  const shown = name.slice(0, maxShown);
  const meant = nearest(shown, known);
  const hint = meant === undefined ? "skill/discover lists the skills" : `did you mean "${meant}"?`;
  return skill.error("unknown_skill", `there is no skill "${shown}"; ${hint}`, {
    detail: { name: shown, similar: meant === undefined ? [] : [meant] },
  });
}

export function unknownVersion(name: string, version: string, versions: readonly string[]): A2EError {
  return skill.error("unknown_skill", `the skill "${name}" has no version "${version}"`, {
    detail: { name, skill_version: version, versions: [...versions] },
  });
}

export function skillBlocked(name: string): A2EError {
  return skill.error("forbidden", `the skill "${name}" is blocked`, { detail: { name } });
}

export function badArguments(name: string, problems: readonly ToolProblem[]): A2EError {
  const issues = problems.map(({ path, message }) => ({
    path: path === "" ? "arguments" : `arguments.${path}`,
    message,
  }));
  return skill.error("schema_violation", `arguments of "${name}": ${problemsToText(problems)}`, { detail: { issues } });
}

/** Not a mistake of the agent: the skill violates its own output schema. */
export function badOutput(name: string, problems: readonly ToolProblem[]): A2EError {
  const issues = problems.map(({ path, message }) => ({ path: path === "" ? "data" : `data.${path}`, message }));
  return skill.error(
    "skill_error",
    `the result of "${name}" does not match its output schema: ${problemsToText(problems)}`,
    { detail: { name, issues }, retryable: false },
  );
}

export function skillFailed(name: string, message: string, detail: Record<string, string | number> = {}): A2EError {
  return skill.error("skill_error", message === "" ? `the skill "${name}" failed` : message, {
    detail: { name, ...detail },
  });
}

export function instructionsTooLong(name: string, maxLength: number): A2EError {
  return skill.error(
    "schema_violation",
    `with these arguments, the instructions of "${name}" are longer than ${maxLength} characters`,
    {
      detail: { name, limit: "maxInstructionsLength" },
    },
  );
}

/** A skill that cannot run on this host, so that retrying does not help. */
export function cannotRun(name: string, reason: string): A2EError {
  return skill.error("skill_error", `the skill "${name}" cannot run on this host: ${reason}`, {
    detail: { name },
    retryable: false,
  });
}

/** The schema may be slow on purpose, or the machine may be busy, so the error is retryable. */
export function checkTookLong(name: string, checkMs: number): A2EError {
  const message = `the schema of the skill "${name}" was not checked within ${checkMs / 1000} s; retry when the host is less busy`;
  return skill.error("skill_error", message, { detail: { name, limit: "schemaCheckMs" } });
}

export function unknownResource(name: string, path: string, reason = "there is no such file"): A2EError {
  const shown = path.slice(0, maxShown);
  return skill.error("unknown_resource", `"${shown}" of the skill "${name}": ${reason}`, {
    detail: { name, path: shown },
  });
}

export function tooManyRunning(maxRunning: number): A2EError {
  return new A2EError("rate_limited", `${maxRunning} skills are running on this host, the maximum; retry later`, {
    capability_name: skill.name,
    detail: { limit: "max_running", retry_after_ms: 1000 },
  });
}
