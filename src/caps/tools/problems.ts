// The error for a call with invalid arguments.

import { problemsToText } from "../../machinery/validation/problem-text.ts";
import type { ToolProblem } from "../../plugin/tool-catalogue.ts";
import type { A2EError } from "../../protocol/errors.ts";
import { tools } from "./protocol.ts";

export function schemaViolation(toolName: string, problems: readonly ToolProblem[]): A2EError {
  const issues = problems.map(({ path, message }) => ({
    path: path === "" ? "arguments" : `arguments.${path}`,
    message,
  }));
  return tools.error("schema_violation", `arguments of "${toolName}": ${problemsToText(problems)}`, {
    detail: { issues },
  });
}
