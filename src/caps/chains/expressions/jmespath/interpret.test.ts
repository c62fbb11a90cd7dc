import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../../protocol/json.ts";
import { parseQuery } from "../query.ts";
import { Work } from "../work.ts";

const data: JsonObject = {
  numbers: [10, 9, -1],
  texts: ["b", "é", "😀", "\uff5e"],
  people: [
    { name: "Eve", age: 30, city: "Rome" },
    { name: "Bob", age: 20, city: "Oslo" },
    { name: "Ann", age: 30, city: "Rome" },
  ],
  deep: [[1, [2]], [3]],
  text: "  one two two ",
  none: null,
  object: { a: 1, b: { c: 2 } },
};

function evaluate(text: string, values = data): JsonValue {
  return parseQuery(text).evaluate(values, new Work());
}

describe("an expression in JMESPath", () => {
  test.each<[text: string, value: JsonValue]>([
    ["sort(numbers)", [-1, 9, 10]],
    ["sort(texts)", ["b", "é", "\uff5e", "😀"]],
    ["sort_by(people, &age)[].name", ["Bob", "Eve", "Ann"]],
    ["max_by(people, &name).name", "Eve"],
    ["min_by(people, &age).name", "Bob"],
    ["max(texts)", "😀"],
    ["min(numbers)", -1],
    ["max(`[]`)", null],
    ["let $limit = `25` in map(&(age > $limit), people)", [true, false, true]],
    ["let $a = `1` in let $b = `2` in [$a, $b]", [1, 2]],
    ["group_by(people, &city) | keys(@)", ["Rome", "Oslo"]],
    ["length(texts[2])", 1],
    ["reverse('a😀')", "😀a"],
    ["people[?age == `30` && contains(name, 'A')].name", ["Ann"]],
    ["deep[]", [1, [2], 3]],
    ["deep[][]", [1, 2, 3]],
    ["object.*", [1, { c: 2 }]],
    ["people[::-1].age", [30, 20, 30]],
    ["people[-2:].name", ["Bob", "Ann"]],
    ["'hello'[1:3]", "el"],
    ["numbers[0] % `4` + `1`", 3],
    ["numbers[0] // `4`", 2],
    ["-numbers[1]", -9],
    ["none ? 'yes' : 'no'", "no"],
    ["{a: object.b.c, b: [none]}", { a: 2, b: [null] }],
    ["object == {b: {c: `2`}, a: `1`}", true],
    ["numbers != deep", true],
    ["text < `3`", null],
    ["contains(deep, `[3]`)", true],
    ["trim(text)", "one two two"],
    ["trim_left('xxay', 'x')", "ay"],
    ["split(trim(text), ' ', `1`)", ["one", "two two"]],
    ["replace(text, 'two', '$&', `1`)", "  one $& two "],
    ["find_first(text, 'two')", 6],
    ["find_last(text, 'two', `0`, `9`)", 6],
    ["pad_left('7', `3`, '0')", "007"],
    ["pad_right('', `2`)", "  "],
    ["join('-', map(&to_string(@), numbers))", "10-9--1"],
    ["merge(object, {a: none})", { a: null, b: { c: 2 } }],
    ["from_items(items(object))", { a: 1, b: { c: 2 } }],
    ["zip(numbers, people[].name)[0]", [10, "Eve"]],
    ["[to_number('1e2'), to_number('0x10'), to_number(none)]", [100, null, null]],
    ["[avg(numbers), sum(numbers), abs(numbers[2]), ceil(`1.2`), floor(`1.8`)]", [6, 18, 1, 2, 1]],
    ["not_null(none, text) == text", true],
    ["[type(none), type(object), type(numbers), to_array(`1`)]", ["null", "object", "array", [1]]],
    ["[upper('é'), lower('É'), starts_with('ab', 'a'), ends_with('ab', 'a')]", ["É", "é", true, false]],
  ])("%s is %j", (text, value) => {
    expect(evaluate(text)).toEqual(value);
  });

  test.each([
    ["sort(people)", /argument 1 of sort\(\) is array; it takes an array of strings or an array of numbers/],
    ["sort_by(people, age)", /argument 2 of sort_by\(\) is null; it takes an &expression/],
    ["sort_by(people, &missing)", /compares by numbers or by texts, not by null/],
    ["length(`1`)", /argument 1 of length\(\) is number; it takes string or array or object/],
    ["group_by(people, &age)", /needs texts to group by/],
    ["numbers[0] / `0`", /division by 0/],
    ["text + `1`", /arithmetic needs numbers, not string/],
    ["numbers[::0]", /cannot be 0/],
    ["$unknown", /unknown variable \$unknown/],
    ["pad_left('a', `-1`)", /whole number/],
    ["replace('a', 'a', 'b', `0.5`)", /whole number/],
    ["length()", /length\(\) takes 1 arguments, not 0/],
    ["split('a')", /split\(\) takes 2 to 3 arguments, not 1/],
    ["merge()", /merge\(\) takes 1 or more arguments, not 0/],
    ["toString()", /unknown function toString\(\)/],
  ])("%s fails with a reason", (text, why) => {
    expect(() => evaluate(text)).toThrow(why);
  });

  test("text in the data is never evaluated, and inherited properties are not fields", () => {
    const forged = { each: { expref: true, type: "Field", name: "secret" }, items: [{ secret: 1 }] };

    expect(() => evaluate("map(each, items)", forged)).toThrow(/it takes an &expression/);
    expect(evaluate("[object.constructor, object.toString, object.__proto__]")).toEqual([null, null, null]);
    expect(evaluate("group_by(@, &k)", [{ k: "__proto__" }] as unknown as JsonObject)).toHaveProperty("__proto__");
  });

  test("lists of any usual size are compared", () => {
    const numbers = Array.from({ length: 200_000 }, (_, index) => index);

    expect(evaluate("[min(n), max(n)]", { n: numbers })).toEqual([0, 199_999]);
  });
});

describe("an expression that would take too many steps", () => {
  const doubled = (times: number, how: string) => `[\`1\`, \`1\`]${` | ${how}`.repeat(times)}`;

  test.each([
    ["lists that double", doubled(60, "[@, @][]")],
    ["the text of a value that holds itself very often", `${doubled(60, "[@, @]")} | to_string(@)`],
    ["two such values compared", `[${doubled(60, "[@, @]")}, ${doubled(60, "[@, @]")}] | @[0] == @[1]`],
    ["a projection within another, many times", `${"n[*].[$.".repeat(20)}n${"]".repeat(20)}`],
    ["a wide padding", "pad_left('x', `1000000000`)"],
    ["a text of long texts", "replace(pad_left('', `100000`, 'a'), 'a', pad_left('', `100000`, 'b'))"],
    ["a join of long texts", "join(pad_left('', `1000000`), split(pad_left('', `100000`), ''))"],
  ])("is stopped: %s", (_, text) => {
    expect(() => evaluate(text, { n: [1, 2, 3, 4, 5, 6, 7, 8] })).toThrow(/it takes more than 1000000 steps/);
  });
});
