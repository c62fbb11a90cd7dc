// Builds a space from its description: agents do so with the answer to `env/space`, the host with the data of a worker.
import * as z from "zod";
import type { JsonValue } from "../../../protocol/json.ts";
import { box } from "./box.ts";
import { actions, dict, tuple } from "./composite.ts";
import { choice, discrete, multiBinary, multiDiscrete } from "./discrete.ts";
import { type Fields, optional, type Space } from "./space.ts";
import { text } from "./text.ts";

const bound = z.union([z.number().nullable(), z.array(z.number().nullable())]);
const fieldForms = { spaces: z.record(z.string(), z.unknown()), optional: z.array(z.string()).default([]) };

const anyForm = z.discriminatedUnion("type", [
  z.object({ type: z.literal("discrete"), n: z.int(), start: z.int().default(0) }),
  z.object({ type: z.literal("choice"), choices: z.array(z.string()) }),
  z.object({ type: z.literal("multi_discrete"), nvec: z.array(z.int()) }),
  z.object({ type: z.literal("multi_binary"), n: z.int() }),
  z.object({
    type: z.literal("box"),
    low: bound,
    high: bound,
    shape: z.array(z.int().min(0)).optional(),
    is_integer: z.boolean().default(false),
  }),
  z.object({
    type: z.literal("text"),
    min_length: z.int().default(0),
    max_length: z.int(),
    charset: z.string().optional(),
  }),
  z.object({ type: z.literal("dict"), ...fieldForms }),
  z.object({ type: z.literal("tuple"), spaces: z.array(z.unknown()) }),
  z.object({ type: z.literal("actions"), actions: z.record(z.string(), z.object(fieldForms)) }),
]);

/** Throws if the value is not the description of a space. */
export function spaceFrom(value: JsonValue | unknown): Space {
  const form = anyForm.parse(value);
  switch (form.type) {
    case "discrete":
      return discrete(form.n, form.start);
    case "choice":
      return choice(form.choices);
    case "multi_discrete":
      return multiDiscrete(form.nvec);
    case "multi_binary":
      return multiBinary(form.n);
    case "box": {
      const { shape, is_integer: isInteger } = form;
      const low = toBound(form.low, Number.NEGATIVE_INFINITY);
      const high = toBound(form.high, Number.POSITIVE_INFINITY);
      if (shape !== undefined) return box(low, high, { shape, isInteger });
      if (typeof low !== "number" || typeof high !== "number")
        throw new RangeError("a box without shape needs single numbers as bounds");
      return box(low, high, { isInteger });
    }
    case "text": {
      const { min_length: minLength, max_length: maxLength, charset } = form;
      return text({ minLength, maxLength, ...(charset === undefined ? {} : { charset }) });
    }
    case "dict":
      return dict(toFields(form));
    case "tuple":
      return tuple(form.spaces.map(spaceFrom));
    case "actions":
      return actions(
        Object.fromEntries(Object.entries(form.actions).map(([name, fields]) => [name, toFields(fields)])),
      );
  }
}

function toBound(given: z.output<typeof bound>, infinity: number): number | number[] {
  return Array.isArray(given) ? given.map((value) => value ?? infinity) : (given ?? infinity);
}

function toFields(form: { spaces: Record<string, unknown>; optional: string[] }): Fields {
  return Object.fromEntries(
    Object.entries(form.spaces).map(([name, inner]) => {
      const space = spaceFrom(inner);
      return [name, form.optional.includes(name) ? optional(space) : space];
    }),
  );
}
