// Numbers within bounds: a single number, a list, or nested lists.
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { SeededRandom } from "../random.ts";
import type { Space } from "./space.ts";

export interface BoxOptions {
  /** `[4]` is a list of four numbers, `[2, 3]` two lists of three. Without it the value is a single number. */
  shape?: readonly number[];
  isInteger?: boolean;
}

type Bound = number | readonly number[];
type Nested = readonly (number | Nested)[];

/** Bounds are inclusive and may be infinite. A list of bounds has one bound for each number, in order. */
export function box(low: number, high: number, options?: { isInteger?: boolean }): Space<number>;
export function box(
  low: Bound,
  high: Bound,
  options: { shape: readonly [number]; isInteger?: boolean },
): Space<number[]>;
export function box(low: Bound, high: Bound, options: BoxOptions & { shape: readonly number[] }): Space<Nested>;
export function box(low: Bound, high: Bound, { shape, isInteger = false }: BoxOptions = {}): Space {
  const size = (shape ?? []).reduce((product, length) => product * length, 1);
  // Samples are clamped to the bounds, so the bounds of an integer box must be integers.
  const lows = toList(low, size).map((bound) => (isInteger ? Math.ceil(bound) : bound));
  const highs = toList(high, size).map((bound) => (isInteger ? Math.floor(bound) : bound));
  if (lows.some((bound, at) => !hasNumber(bound, highs[at] as number)))
    throw new RangeError("a box needs low ≤ high and at least one number between them");
  const isInside = (value: unknown, at: number): boolean =>
    typeof value === "number" &&
    (isInteger ? Number.isInteger(value) : Number.isFinite(value)) &&
    value >= (lows[at] as number) &&
    value <= (highs[at] as number);
  const draw = (at: number, random: SeededRandom) =>
    drawWithin(lows[at] as number, highs[at] as number, isInteger, random);
  const form: JsonObject = {
    type: "box",
    low: toJsonBound(low),
    high: toJsonBound(high),
    ...(shape === undefined ? {} : { shape: [...shape] }),
    ...(isInteger ? { is_integer: true } : {}),
  };
  return {
    form,
    schema: schemaOf(shape ?? [], 0, (at) => numberSchema(lows[at] as number, highs[at] as number, isInteger)),
    contains: (value): value is unknown => containsNested(value, shape ?? [], 0, 0, isInside) >= 0,
    sample: (random) => build(shape ?? [], 0, (at) => draw(at, random)),
  };
}

function toList(bound: Bound, size: number): readonly number[] {
  if (typeof bound === "number") return new Array<number>(size).fill(bound);
  if (bound.length !== size)
    throw new RangeError(`a box of ${size} numbers needs ${size} bounds, found ${bound.length}`);
  return bound;
}

function hasNumber(low: number, high: number): boolean {
  return low <= high && low < Number.POSITIVE_INFINITY && high > Number.NEGATIVE_INFINITY;
}

/** Returns the index after the last number checked, or -1 if a number is not inside. */
function containsNested(
  value: unknown,
  shape: readonly number[],
  depth: number,
  from: number,
  isInside: (value: unknown, at: number) => boolean,
): number {
  if (depth === shape.length) return isInside(value, from) ? from + 1 : -1;
  if (!Array.isArray(value) || value.length !== shape[depth]) return -1;
  let at = from;
  for (const item of value) {
    at = containsNested(item, shape, depth + 1, at, isInside);
    if (at < 0) return -1;
  }
  return at;
}

function build(shape: readonly number[], depth: number, draw: (at: number) => number): unknown {
  let at = 0;
  const nest = (level: number): unknown => {
    if (level === shape.length) {
      at += 1;
      return draw(at - 1);
    }
    return Array.from({ length: shape[level] as number }, () => nest(level + 1));
  };
  return nest(depth);
}

/** As in Gymnasium: uniform between two bounds, exponential from a single bound, normal without bounds. */
function drawWithin(low: number, high: number, isInteger: boolean, random: SeededRandom): number {
  if (low === high) return low;
  const draw = () => {
    if (Number.isFinite(high - low))
      return isInteger ? low + random.integer(high - low + 1) : random.between(low, high);
    // The distance between the bounds overflows to infinity, but half of it does not.
    if (Number.isFinite(low) && Number.isFinite(high)) return 2 * random.between(low / 2, high / 2);
    if (Number.isFinite(low)) return low - Math.log(1 - random.next());
    if (Number.isFinite(high)) return high + Math.log(1 - random.next());
    return random.normal();
  };
  const drawn = isInteger ? Math.floor(draw()) : draw();
  return Math.min(high, Math.max(low, drawn));
}

function numberSchema(low: number, high: number, isInteger: boolean): JsonObject {
  return {
    type: isInteger ? "integer" : "number",
    ...(Number.isFinite(low) ? { minimum: low } : {}),
    ...(Number.isFinite(high) ? { maximum: high } : {}),
  };
}

function schemaOf(shape: readonly number[], from: number, at: (index: number) => JsonObject): JsonObject {
  const [length, ...rest] = shape;
  if (length === undefined) return at(from);
  const stride = rest.reduce((product, size) => product * size, 1);
  const items = Array.from({ length }, (_, index) => schemaOf(rest, from + index * stride, at));
  const isUniform = items.every((item) => JSON.stringify(item) === JSON.stringify(items[0]));
  return {
    type: "array",
    ...(isUniform ? { items: items[0] ?? {} } : { prefixItems: items }),
    minItems: length,
    maxItems: length,
  };
}

/** JSON has no infinity, so null stands for an infinite bound. */
function toJsonBound(bound: Bound): JsonValue {
  const one = (value: number) => (Number.isFinite(value) ? value : null);
  return typeof bound === "number" ? one(bound) : bound.map(one);
}
