// Parses and validates the front matter of a skill, and expands its short forms.
import * as z from "zod";
import { explainIssue } from "../../../machinery/options/issues.ts";
import { renderPath } from "../../../machinery/options/problem.ts";
import { copyJson, isJsonObject, type JsonObject, type JsonValue, jsonObject } from "../../../protocol/json.ts";
import { skillLimits } from "../limits.ts";
import { type SkillStatus, skillStatuses } from "../protocol.ts";
import { type ManifestText, parseManifestText } from "./front-matter.ts";
import { argumentNames, toSchema } from "./schema-shorthand.ts";
import { SkillFormatError } from "./skill-format-error.ts";
import { splitToolNames } from "./tool-names.ts";
import { isVersion } from "./versions.ts";

export const skillName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

const maxTextLength = 4000;
const text = z.string().max(maxTextLength);
/** A list, or a string that is split into one. */
const listOf = (split: (text: string) => string[]) =>
  z
    .union([z.array(z.coerce.string().max(500)), z.string().max(maxTextLength)])
    .transform((given) => (typeof given === "string" ? split(given) : given).filter((word) => word !== ""))
    .pipe(z.array(z.string()).max(skillLimits.maxListItems));
const words = listOf((given) => given.split(/[\s,]+/));
const toolNames = listOf(splitToolNames);
/** Unlike words, phrases may contain spaces: a string is a single item. */
const phrases = z
  .union([
    z.array(z.coerce.string().max(500)),
    z
      .string()
      .max(500)
      .transform((phrase) => [phrase]),
  ])
  .pipe(z.array(z.string()).max(skillLimits.maxListItems));

/** Authors write `[issue-number]`, as on command lines, which YAML parses as a list. */
const hint = z.union([
  text,
  z.array(z.coerce.string().max(500)).transform((words) => `[${words.join(", ")}]`.slice(0, maxTextLength)),
]);

const status = z
  .string()
  .transform((given) => skillStatuses.find((one) => one.toLowerCase() === given.toLowerCase()) ?? given)
  .pipe(z.enum(skillStatuses));

/** Unknown fields are ignored: other clients define fields of their own. */
const frontMatter = z.looseObject({
  name: z
    .string()
    .min(1)
    .max(skillLimits.maxNameLength)
    .regex(skillName, "expected lowercase letters, digits and single hyphens"),
  description: z
    .string()
    .max(skillLimits.maxDescriptionLength)
    .refine((description) => description.trim() !== "", "expected some text"),
  license: text.default(""),
  compatibility: z.string().max(500).default(""),
  metadata: jsonObject.default({}),
  allowed_tools: toolNames.optional(),
  tools: toolNames.optional(),
  toolkits: words.optional(),
  triggers: phrases.default([]),
  when_to_use: text.default(""),
  argument_hint: hint.default(""),
  arguments: words.optional(),
  category: text.optional(),
  categories: phrases.optional(),
  tags: words.default([]),
  status: status.default("Published"),
  max_turns: z.int().min(1).optional(),
  timeout_seconds: z.number().min(0.1).max(3600).optional(),
  icon: text.optional(),
  script: z.string().min(1).max(500).optional(),
  runtime: z.string().min(1).max(32).optional(),
  llm: z.boolean().default(false),
});

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly compatibility: string;
  readonly metadata: JsonObject;
  readonly tools: readonly string[] | undefined;
  readonly toolkits: readonly string[] | undefined;
  readonly triggers: readonly string[];
  readonly whenToUse: string;
  readonly argumentHint: string;
  readonly argumentNames: readonly string[];
  readonly categories: readonly string[];
  readonly tags: readonly string[];
  readonly status: SkillStatus;
  readonly maxTurns: number | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly icon: string | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | undefined;
  /** The script that a call runs; without it, a call returns the instructions. */
  readonly script: { readonly path: string; readonly runtime: string } | undefined;
  readonly usesLlm: boolean;
  readonly instructions: string;
}

/** Rejects with a SkillFormatError that lists all problems. */
export async function parseManifest(source: string): Promise<Manifest> {
  const manifestText = await parseManifestText(source);
  const fields = withInputs(withPlainKeys(manifestText.fields));
  const parsed = frontMatter.safeParse(fields);
  if (!parsed.success) throw new SkillFormatError(parsed.error.issues.map((issue) => explain(issue, fields)));
  const { data } = parsed;
  const inputs = readSchema(fields, "inputs", "input_schema");
  const names = data.arguments ?? (inputs === undefined ? [] : argumentNames(inputs));
  return {
    name: data.name,
    version: readVersion(manifestText, fields),
    description: data.description.trim(),
    license: data.license,
    compatibility: data.compatibility,
    metadata: data.metadata,
    tools: data.allowed_tools ?? data.tools,
    toolkits: data.toolkits,
    triggers: data.triggers,
    whenToUse: data.when_to_use,
    argumentHint: data.argument_hint === "" ? names.join(" ") : data.argument_hint,
    argumentNames: names,
    categories: data.categories ?? (data.category === undefined ? [] : [data.category]),
    tags: data.tags,
    status: data.status,
    maxTurns: data.max_turns,
    timeoutSeconds: data.timeout_seconds,
    icon: data.icon,
    inputSchema: inputs ?? toSchema([...names]) ?? {},
    outputSchema: readSchema(fields, "outputs", "output_schema"),
    script: data.script === undefined ? undefined : readScript(data.script, data.runtime),
    usesLlm: data.llm,
    instructions: manifestText.body,
  };
}

/** Both spellings, `allowed-tools` and `allowed_tools`, are in use and mean the same field. */
function withPlainKeys(fields: JsonObject): JsonObject {
  const plain = Object.entries(copyJson(fields)).map(([key, value]) => [key.replaceAll("-", "_"), value] as const);
  // A key without a value counts as missing.
  return Object.fromEntries(plain.filter(([, value]) => value !== null));
}

/** Arguments with more than a name are treated as `inputs`. */
function withInputs(fields: JsonObject): JsonObject {
  const { arguments: given, ...rest } = fields;
  const isNames = typeof given !== "object" || (Array.isArray(given) && !given.some(isJsonObject));
  if (isNames || given === null) return fields;
  return rest.inputs === undefined && rest.input_schema === undefined ? { ...rest, inputs: given } : rest;
}

function explain(issue: z.core.$ZodIssue, fields: JsonObject): string {
  const [key = ""] = issue.path.map(String);
  if (fields[key] === undefined) return `${key}: is missing`;
  const { message } = explainIssue(issue, fields[key], false);
  return `${renderPath(issue.path as (string | number)[])}: ${message}`;
}

function readSchema(fields: JsonObject, ...names: readonly [string, string]): JsonObject | undefined {
  const name = names.find((one) => fields[one] !== undefined);
  if (name === undefined) return undefined;
  const schema = toSchema(fields[name] as JsonValue);
  if (schema === undefined)
    throw new SkillFormatError([`${name}: expected a JSON Schema, a map or a list of arguments`]);
  return schema;
}

const firstVersion = "1.0.0";

/** Many skills have their version in `metadata`. A skill without a version is version 1.0.0. */
function readVersion({ frontMatter: source }: ManifestText, fields: JsonObject): string {
  const { version, metadata } = fields;
  const given = version ?? (metadata as JsonObject | undefined)?.version ?? firstVersion;
  const written = Array.from(source.matchAll(/^[ \t]*version:[ \t]*([\d.]+)[ \t]*(?:#.*)?$/gm), ([, one = ""]) => one);
  const found = typeof given === "number" ? (written.find((one) => Number(one) === given) ?? String(given)) : given;
  if (typeof found === "string" && isVersion(found)) return found;
  // `metadata` belongs to the author, so a `version` there need not be a valid version.
  if (version === undefined) return firstVersion;
  throw new SkillFormatError([
    `version: expected a version such as 1.2.0, found ${JSON.stringify(found).slice(0, 60)}`,
  ]);
}

const runtimesByExtension: Readonly<Record<string, string>> = { js: "javascript", mjs: "javascript", py: "python" };

function readScript(path: string, runtime: string | undefined): { path: string; runtime: string } {
  const extension = /\.([a-z]+)$/.exec(path)?.[1] ?? "";
  const found = runtime ?? runtimesByExtension[extension];
  if (found === undefined)
    throw new SkillFormatError([`script: set \`runtime\` to the interpreter that runs "${path}"`]);
  return { path, runtime: found };
}
