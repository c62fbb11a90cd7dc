// A test case of a skill: a file `tests/<name>.json` in its folder.
import { z } from "zod";
import { type SkillResult, skill } from "../../caps/skill/protocol.ts";
import type { A2EClient } from "../../client/client.ts";
import { A2EClientError } from "../../client/errors.ts";
import { isJsonObject, type JsonValue, jsonObject, jsonValue } from "../../protocol/json.ts";

export const skillCase = z.strictObject({
  arguments: jsonObject.default({}),
  /** The fields that the data of the result must have; further fields are allowed. */
  expect: jsonValue.optional(),
  /** Texts that must be in the data. */
  contains: z.array(z.string()).default([]),
  /** The code of the error that must come instead of a result. */
  error: z.string().optional(),
  /** The answers of the agent's model, in this order. */
  llm: z.array(z.string()).default([]),
});

export type SkillCase = z.output<typeof skillCase>;

/** The problems of the case; empty if it passed. */
export async function runSkillCase(
  client: A2EClient,
  name: string,
  skill_version: string,
  given: SkillCase,
): Promise<string[]> {
  const answers = [...given.llm];
  const forget = client.onAsk(skill.asks.llm, async () => {
    const content = answers.shift();
    if (content === undefined) throw new Error("the case has no further answer under `llm`");
    return { content, model: "test" };
  });
  try {
    const { data } = await client.use(skill).call({ name, skill_version, arguments: given.arguments, timeout: 0 });
    return data === null ? ["the host gave no result"] : compareResult(given, data);
  } catch (error) {
    if (!(error instanceof A2EClientError)) throw error;
    if (given.error === error.code) return [];
    return [
      given.error === undefined
        ? `${error.code}: ${error.message}`
        : `expected ${given.error}, got ${error.code}: ${error.message}`,
    ];
  } finally {
    forget();
  }
}

function compareResult(
  { error, expect, contains }: SkillCase,
  { success, data, error: failure }: SkillResult,
): string[] {
  if (error !== undefined) return [`expected the error ${error}, got a result: ${show(data)}`];
  if (!success) return [`the skill returned a failure: ${failure ?? ""}`];
  const text = isJsonObject(data) && typeof data.instructions === "string" ? data.instructions : JSON.stringify(data);
  return [
    ...(expect === undefined ? [] : findDifferences(expect, data, "data")),
    ...contains.filter((one) => !text.includes(one)).map((one) => `expected ${show(one)} in ${show(text)}`),
  ];
}

/** Objects may have more than is expected of them; lists and plain values are as they are. */
function findDifferences(expected: JsonValue, found: JsonValue | undefined, path: string): string[] {
  if (isJsonObject(expected) && isJsonObject(found))
    return Object.entries(expected).flatMap(([key, value]) => findDifferences(value, found[key], `${path}.${key}`));
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length)
    return expected.flatMap((value, index) => findDifferences(value, found[index], `${path}[${index}]`));
  if (expected === found) return [];
  return [`${path}: expected ${show(expected)}, got ${show(found)}`];
}

const maxShown = 200;

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
