// Validates values against a schema: fills in defaults and reports all problems at once.
import { z } from "zod";
import { createSchemaCheck } from "../../machinery/validation/json-schema.ts";
import { toPath } from "../../machinery/validation/problem-text.ts";
import type { CatalogueTool } from "../../plugin/tool-catalogue.ts";
import type { JsonObject } from "../../protocol/json.ts";

type Check = CatalogueTool["check"];

/**
 * Validates with the JSON Schema first, which reports all problems, and then with `parse`, for rules that only code can
 * check, such as a zod refinement. The result is JSON; the output of `parse` need not be.
 */
export function createCheck(schema: JsonObject, parse: (value: JsonObject) => unknown): Check {
  const check = createSchemaCheck(schema);
  return (given) => {
    const checked = check(given);
    if ("problems" in checked) return checked;
    try {
      parse(checked.value);
      return checked;
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error;
      return { problems: error.issues.map(({ path, message }) => ({ path: toPath(path), message })) };
    }
  };
}
