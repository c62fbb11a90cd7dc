// Validates a config against the schema of its toolkit.

import { toPath } from "../../../machinery/validation/problem-text.ts";
import type { ToolProblem } from "../../../plugin/tool-catalogue.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Toolkit } from "../define-toolkit.ts";
import { toolkitLimits } from "../limits.ts";
import { createScrubber, type Scrubber } from "./scrubber.ts";
import { type SecretValue, type SplitConfig, splitSecrets, textsOf } from "./secret-values.ts";

/** Returns the config with its defaults, split from its secrets, or its problems in words that repeat no value. */
export function checkConfig(toolkit: Toolkit, config: JsonObject): SplitConfig | { problems: ToolProblem[] } {
  const size = Buffer.byteLength(JSON.stringify(config));
  if (size > toolkitLimits.maxConfigBytes) return tooMuch(`${size} bytes`, toolkitLimits.maxConfigBytes);
  const { secrets } = splitSecrets(toolkit.configSchema, config);
  const scrubber = createScrubber(textsOf(secrets));
  try {
    const checked = toolkit.checkConfig(config);
    if ("problems" in checked)
      return { problems: checked.problems.map((problem) => conceal(problem, secrets, scrubber)) };
    const split = splitSecrets(toolkit.configSchema, checked.value);
    const { length } = textsOf(split.secrets);
    // The output of the tools is searched for each secret.
    return length > toolkitLimits.maxSecrets ? tooMuch(`${length} secrets`, toolkitLimits.maxSecrets) : split;
  } catch (error) {
    // A schema may put the value into its error, which would be logged.
    throw scrubber?.error(error) ?? error;
  }
}

function tooMuch(what: string, limit: number): { problems: ToolProblem[] } {
  return { problems: [{ path: "", message: `${what} exceed the limit of ${limit}` }] };
}

/**
 * Problems describe the value that was found, and a secret may be in any place of a wrong config, so no value is
 * repeated. For a problem within a secret, only the path of the whole secret is reported.
 */
function conceal(
  { path, message }: ToolProblem,
  secrets: readonly SecretValue[],
  scrubber: Scrubber | undefined,
): ToolProblem {
  for (const [secretPath] of secrets) {
    const secret = toPath(secretPath);
    if (secret === "" || path.startsWith(`${secret}.`) || path.startsWith(`${secret}[`))
      return { path: secret, message: "does not match its schema" };
  }
  const told = message.replace(/, found .*$/s, "");
  return { path, message: scrubber?.text(told) ?? told };
}
