// The errors of the toolkits capability.

import { nearest } from "../../machinery/nearest.ts";
import { problemsToText } from "../../machinery/validation/problem-text.ts";
import type { ToolProblem } from "../../plugin/tool-catalogue.ts";
import type { A2EError } from "../../protocol/errors.ts";
import { toolkits } from "./protocol.ts";

const shown = (name: string) => `"${name.slice(0, 64)}"`;

export function unknownToolkit(name: string, available: readonly string[]): A2EError {
  const meant = nearest(name, available);
  const hint = meant === undefined ? "toolkit/list lists the toolkits" : `did you mean "${meant}"?`;
  return toolkits.error("unknown_toolkit", `this host has no toolkit ${shown(name)}; ${hint}`, {
    detail: { toolkit_name: name.slice(0, 64), available: [...available] },
  });
}

export function notInstalled(name: string): A2EError {
  return toolkits.error("not_installed", `the toolkit ${shown(name)} is not installed`, {
    detail: { toolkit_name: name },
  });
}

export function nameTaken(name: string, by: string): A2EError {
  return toolkits.error("toolkit_conflict", `the name ${shown(name)} is taken: ${by}`, {
    detail: { toolkit_name: name.slice(0, 64) },
  });
}

export function badAlias(alias: string): A2EError {
  const message = `${shown(alias)} is not a valid alias: use up to 48 small letters, digits, single _ and -`;
  return toolkits.error("schema_violation", `alias: ${message}`, { detail: { issues: [{ path: "alias", message }] } });
}

export function tooMany(maxInstalled: number): A2EError {
  return toolkits.error(
    "toolkit_limit",
    `a session may install at most ${maxInstalled} toolkits; uninstall one first`,
    {
      detail: { max_installed: maxInstalled },
    },
  );
}

export function notYours(name: string): A2EError {
  return toolkits.error(
    "forbidden",
    `the toolkit ${shown(name)} is shared by all sessions of this host: only agents that its operator lists in shared_admins may change it. Install your own instance under an alias`,
    { detail: { toolkit_name: name } },
  );
}

export function operatorsOwn(name: string): A2EError {
  return toolkits.error("forbidden", `the toolkit ${shown(name)} was set up by the operator of this host`, {
    detail: { toolkit_name: name },
  });
}

export function badConfig(name: string, problems: readonly ToolProblem[]): A2EError {
  const issues = problems.map(({ path, message }) => ({ path: path === "" ? "config" : `config.${path}`, message }));
  return toolkits.error("schema_violation", `config of "${name}": ${problemsToText(problems)}`, { detail: { issues } });
}

export function startFailed(name: string, reason: string): A2EError {
  return toolkits.error(
    "toolkit_error",
    `the toolkit "${name}" could not start with this config, so the earlier config stays in effect: ${reason}`,
    { detail: { toolkit_name: name } },
  );
}
