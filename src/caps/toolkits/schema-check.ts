// Values against their schema: defaults filled, all problems at once.
import { z } from "zod";
import type { CatalogueTool } from "../../host/tool-catalogue.ts";
import { createSchemaCheck } from "../../machinery/validation/json-schema.ts";
import { toPath } from "../../machinery/validation/problem-text.ts";
import type { JsonObject } from "../../protocol/json.ts";

type Check = CatalogueTool["check"];

/**
 * The JSON Schema first, which names all problems; then what only the code behind it knows, such as a zod refinement.
 * What comes back is still JSON: what `parse` makes of it need not be.
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
