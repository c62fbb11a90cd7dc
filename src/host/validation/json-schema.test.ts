import { expect, test } from "vitest";
import { createSchemaCheck } from "./json-schema.ts";

test.each(["constructor", "toString", "valueOf", "hasOwnProperty"])(
  "an argument called %s is there only where it was given, though every object has something of that name",
  (name) => {
    const properties = { [name]: { type: "string" } };
    const check = createSchemaCheck({ type: "object", properties, additionalProperties: false });
    const strict = createSchemaCheck({ type: "object", properties, required: [name] });

    expect(check({})).toEqual({ value: {} });
    expect(check({ [name]: "given" })).toEqual({ value: { [name]: "given" } });
    expect(check({ [name]: 7 })).toEqual({ problems: [{ path: name, message: "expected string, found number 7" }] });
    expect(strict({})).toEqual({ problems: [{ path: "", message: `property "${name}" is required and missing` }] });
    expect(strict({ [name]: "given" })).toEqual({ value: { [name]: "given" } });
  },
);
