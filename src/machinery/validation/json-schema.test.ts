import { expect, test } from "vitest";
import { createSchemaCheck } from "./json-schema.ts";

test.each(["constructor", "toString", "valueOf", "hasOwnProperty"])(
  "an argument called %s is present only if it was given, although every object inherits that name",
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

test.each(["constructor", "toString", "a"])(
  "the default of an argument called %s is filled in, at any depth",
  (name) => {
    const inner = { type: "object", properties: { [name]: { type: "string", default: "usual" } }, required: [name] };
    const check = createSchemaCheck({
      type: "object",
      properties: { ...inner.properties, list: { type: "array", items: inner } },
      required: [name],
    });

    const checked = check({ list: [{}, { [name]: "given" }] });

    expect(checked).toEqual({ value: { [name]: "usual", list: [{ [name]: "usual" }, { [name]: "given" }] } });
    expect(check({ [name]: 7 })).toEqual({ problems: [{ path: name, message: "expected string, found number 7" }] });
    // Callers receive ordinary objects.
    expect(Object.getPrototypeOf("value" in checked ? checked.value : null)).toBe(Object.prototype);
  },
);
