// Spaces composed of other spaces.
import type { JsonObject } from "../../../protocol/json.ts";
import type { SeededRandom } from "../random.ts";
import { type Fields, type FieldValues, isRecord, type OptionalField, type Space, type ValueOf } from "./space.ts";

interface Field {
  readonly name: string;
  readonly space: Space;
  readonly isOptional: boolean;
}

/** An object with exactly these fields; those marked `optional` may be missing. */
export function dict<const F extends Fields>(fields: F): Space<FieldValues<F>> {
  const list = toFields(fields);
  return {
    form: { type: "dict", spaces: formsOf(list), ...optionalNames(list) },
    schema: objectSchema(list),
    contains: (value): value is FieldValues<F> => isRecord(value) && containsFields(list, value, 0),
    sample: (random) => sampleFields(list, random) as FieldValues<F>,
  };
}

/** A list with one value for each of these spaces. */
export function tuple<const Parts extends readonly Space[]>(
  parts: Parts,
): Space<{ -readonly [Index in keyof Parts]: ValueOf<Parts[Index]> }> {
  type Value = { -readonly [Index in keyof Parts]: ValueOf<Parts[Index]> };
  return {
    form: { type: "tuple", spaces: parts.map(({ form }) => form) },
    schema: {
      type: "array",
      prefixItems: parts.map(({ schema }) => schema),
      minItems: parts.length,
      maxItems: parts.length,
    },
    contains: (value): value is Value =>
      Array.isArray(value) && value.length === parts.length && parts.every((part, at) => part.contains(value[at])),
    sample: (random) => parts.map((part) => part.sample(random)) as Value,
  };
}

type Actions = Readonly<Record<string, Fields>>;
type ActionValue<A extends Actions> = {
  [Name in keyof A & string]: { type: Name } & FieldValues<A[Name]>;
}[keyof A & string];

/** One of several named actions, each with its own fields: `{ type: "inc", amount: 2 }`. */
export function actions<const A extends Actions>(named: A): Space<ActionValue<A>> {
  const lists = new Map(Object.entries(named).map(([name, fields]) => [name, toFields(fields)]));
  const names = [...lists.keys()];
  if (names.length === 0) throw new RangeError("an action space needs at least one action");
  if (Object.values(named).some((fields) => Object.hasOwn(fields, "type")))
    throw new RangeError("an action cannot have a field `type`, which is used for its name");
  const fieldsOf = (name: unknown): readonly Field[] | undefined => lists.get(name as string);
  return {
    form: {
      type: "actions",
      actions: Object.fromEntries(
        [...lists].map(([name, list]) => [name, { spaces: formsOf(list), ...optionalNames(list) }]),
      ),
    },
    schema: {
      oneOf: [...lists].map(([name, list]) => {
        const { properties, required, ...rest } = objectSchema(list);
        return {
          ...rest,
          properties: { type: { const: name }, ...(properties as JsonObject) },
          required: ["type", ...(required as string[])],
        };
      }),
    },
    contains(value): value is ActionValue<A> {
      if (!isRecord(value)) return false;
      const list = fieldsOf(value.type);
      return list !== undefined && containsFields(list, value, 1);
    },
    sample(random) {
      const type = names[random.integer(names.length)];
      return { type, ...sampleFields(fieldsOf(type) ?? [], random) } as ActionValue<A>;
    },
  };
}

function toFields(fields: Fields): Field[] {
  return Object.entries(fields).map(([name, field]) => {
    const isOptional = "optional" in field;
    return { name, isOptional, space: isOptional ? (field as OptionalField).optional : (field as Space) };
  });
}

/** `known` is the number of fields of the value that belong to no space, such as `type`. */
function containsFields(fields: readonly Field[], value: Record<string, unknown>, known: number): boolean {
  let count = known;
  for (const { name, space, isOptional } of fields) {
    if (Object.hasOwn(value, name)) {
      if (!space.contains(value[name])) return false;
      count += 1;
    } else if (!isOptional) return false;
  }
  return Object.keys(value).length === count;
}

function sampleFields(fields: readonly Field[], random: SeededRandom): Record<string, unknown> {
  const drawn: Record<string, unknown> = {};
  for (const { name, space, isOptional } of fields)
    if (!isOptional || random.next() < 0.5) drawn[name] = space.sample(random);
  return drawn;
}

function formsOf(fields: readonly Field[]): JsonObject {
  return Object.fromEntries(fields.map(({ name, space }) => [name, space.form]));
}

function optionalNames(fields: readonly Field[]): JsonObject {
  const names = fields.filter(({ isOptional }) => isOptional).map(({ name }) => name);
  return names.length === 0 ? {} : { optional: names };
}

function objectSchema(fields: readonly Field[]): JsonObject {
  return {
    type: "object",
    properties: Object.fromEntries(fields.map(({ name, space }) => [name, space.schema])),
    required: fields.filter(({ isOptional }) => !isOptional).map(({ name }) => name),
    additionalProperties: false,
  };
}
