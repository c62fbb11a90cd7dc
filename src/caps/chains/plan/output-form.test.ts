import fc from "fast-check";
import { expect, test } from "vitest";
import { createOutputForm } from "./output-form.ts";

const id = fc.string({ minLength: 1, unit: "binary" }).filter((text) => text !== "__proto__");

test("a generated form creates the same fields as the generic one, for any ids", () => {
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 40 }), (ids) => {
      const form = createOutputForm(ids);
      const values = ids.map((_, index) => (index % 3 === 0 ? undefined : { index }));
      const first = form(values);

      expect(form(values)).toEqual(first);
      expect(Object.keys(form(values))).toEqual(Object.keys(first));
      expect(Object.entries(first).map(([key, value]) => [ids.indexOf(key), value])).toEqual(
        Object.keys(first).map((key) => [ids.indexOf(key), values[ids.indexOf(key)] ?? null]),
      );
      expect(Object.keys(first).length).toBe(ids.length);
    }),
  );
});

test("ids that look like code stay ids", () => {
  const ids = ['"]; throw new Error("ran"); //', "\u2028", "a\nb", "\\", "`", "values"];
  const form = createOutputForm(ids);
  form([]);

  expect(Object.keys(form([]))).toEqual(ids);
});

test("a chain of any length has an output form", () => {
  const ids = Array.from({ length: 2000 }, (_, index) => `n${index}`);
  const form = createOutputForm(ids);
  for (let use = 0; use < 3; use++) expect(Object.keys(form(ids))).toEqual(ids);
});
