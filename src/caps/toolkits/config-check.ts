// A config against the schema of its toolkit.
import type { ToolProblem } from "../../host/tool-catalogue.ts";
import { toPath } from "../../host/validation/problem-text.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Toolkit } from "./define-toolkit.ts";
import { toolkitLimits } from "./limits.ts";
import { type SecretValue, splitSecrets } from "./secret-values.ts";

/** The config with its defaults, as JSON, or what is wrong with it in words that repeat no secret. */
export function checkConfig(toolkit: Toolkit, config: JsonObject): { value: JsonObject } | { problems: ToolProblem[] } {
  const size = Buffer.byteLength(JSON.stringify(config));
  if (size > toolkitLimits.maxConfigBytes)
    return { problems: [{ path: "", message: `${size} bytes are more than ${toolkitLimits.maxConfigBytes}` }] };
  const checked = toolkit.checkConfig(config);
  if ("value" in checked) return checked;
  const { secrets } = splitSecrets(toolkit.configSchema, config);
  return { problems: checked.problems.map((problem) => conceal(problem, secrets)) };
}

/** Problems tell what was found. Of a secret nothing is told but where it is, and what was expected of it as a whole. */
function conceal({ path, message }: ToolProblem, secrets: readonly SecretValue[]): ToolProblem {
  for (const [secretPath] of secrets) {
    const secret = toPath(secretPath);
    if (path === secret) return { path, message: message.replace(/, found .*$/s, "") };
    if (secret === "" || path.startsWith(`${secret}.`) || path.startsWith(`${secret}[`))
      return { path: secret, message: "does not fit its schema" };
  }
  return { path, message };
}
