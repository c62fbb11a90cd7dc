// A config against the schema of its toolkit.
import type { ToolProblem } from "../../../host/tool-catalogue.ts";
import { toPath } from "../../../machinery/validation/problem-text.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Toolkit } from "../define-toolkit.ts";
import { toolkitLimits } from "../limits.ts";
import { createScrubber, type Scrubber } from "./scrubber.ts";
import { type SecretValue, type SplitConfig, splitSecrets, textsOf } from "./secret-values.ts";

/** The config with its defaults and its secrets apart, or what is wrong with it in words that repeat no value. */
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
    // Each is looked for in all that its tools return.
    return length > toolkitLimits.maxSecrets ? tooMuch(`${length} secrets`, toolkitLimits.maxSecrets) : split;
  } catch (error) {
    // Whoever wrote the schema may have put the value into the error, which goes to the log.
    throw scrubber?.error(error) ?? error;
  }
}

function tooMuch(what: string, limit: number): { problems: ToolProblem[] } {
  return { problems: [{ path: "", message: `${what} are more than ${limit}` }] };
}

/**
 * Problems tell what was found, and a secret may have been put anywhere, in any shape: so no value is repeated. Of what is
 * within a secret nothing is told but where the whole is.
 */
function conceal(
  { path, message }: ToolProblem,
  secrets: readonly SecretValue[],
  scrubber: Scrubber | undefined,
): ToolProblem {
  for (const [secretPath] of secrets) {
    const secret = toPath(secretPath);
    if (secret === "" || path.startsWith(`${secret}.`) || path.startsWith(`${secret}[`))
      return { path: secret, message: "does not fit its schema" };
  }
  const told = message.replace(/, found .*$/s, "");
  return { path, message: scrubber?.text(told) ?? told };
}
