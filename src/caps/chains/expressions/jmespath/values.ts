// Comparison and order of JSON values, by the rules of JMESPath.
import type { JsonValue } from "../../../../protocol/json.ts";
import type { Work } from "../work.ts";

export function isEqual(one: JsonValue, other: JsonValue, work: Work): boolean {
  work.spend(1);
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, index) => isEqual(item, other[index] as JsonValue, work));
  }
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) => Object.hasOwn(other, key) && isEqual(one[key] as JsonValue, other[key] as JsonValue, work),
  );
}

/** By code points: comparing UTF-16 units would sort emoji before some other characters. */
export function compareTexts(one: string, other: string, work: Work): number {
  const length = Math.min(one.length, other.length);
  let index = 0;
  while (index < length && one.charCodeAt(index) === other.charCodeAt(index)) index++;
  work.spendText(index);
  if (index === length) return one.length - other.length;
  return (one.codePointAt(index) as number) - (other.codePointAt(index) as number);
}

/** By the rules of JMESPath: 0 is true. */
export function isFalse(value: JsonValue): boolean {
  if (value === null || value === false || value === "") return true;
  if (typeof value !== "object") return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

/** The slice `[start:stop:step]` of a list or of the characters of a text. */
export function slice<Item>(
  items: readonly Item[],
  { start, stop, step: given }: { start: number | null; stop: number | null; step: number | null },
  work: Work,
): Item[] {
  const step = given ?? 1;
  if (step === 0) throw new Error("the step of a slice cannot be 0");
  const { length } = items;
  const toIndex = (value: number | null, whenMissing: number) => {
    if (value === null) return whenMissing;
    const index = value < 0 ? value + length : value;
    return step > 0 ? Math.max(0, Math.min(index, length)) : Math.max(-1, Math.min(index, length - 1));
  };
  const from = toIndex(start, step > 0 ? 0 : length - 1);
  const to = toIndex(stop, step > 0 ? length : -1);
  const sliced: Item[] = [];
  for (let index = from; step > 0 ? index < to : index > to; index += step) {
    work.spend(1);
    sliced.push(items[index] as Item);
  }
  return sliced;
}

/** The type of a value, as JMESPath names it. */
export function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
