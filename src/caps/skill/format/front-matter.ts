// Splits a SKILL.md into its front matter (YAML between two lines of `---`) and its instructions.
import { ConfigError } from "../../../machinery/options/problem.ts";
import { parseYaml } from "../../../machinery/options/yaml.ts";
import { isJsonObject, type JsonObject } from "../../../protocol/json.ts";
import { skillLimits } from "../limits.ts";
import { SkillFormatError } from "./skill-format-error.ts";

export interface ManifestText {
  readonly fields: JsonObject;
  /** The source text, since YAML parses the version `1.10` as the number 1.1. */
  readonly frontMatter: string;
  readonly body: string;
}

/** Rejects with a SkillFormatError. */
export async function parseManifestText(text: string): Promise<ManifestText> {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (lines[0]?.trimEnd() !== "---") throw new SkillFormatError(["must begin with front matter: a line of ---"]);
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === "---");
  if (end === -1) throw new SkillFormatError(["the front matter has no end: add a second line of ---"]);
  const frontMatter = lines.slice(1, end).join("\n");
  if (frontMatter.length > skillLimits.maxFrontMatterLength)
    throw new SkillFormatError([`the front matter is longer than ${skillLimits.maxFrontMatterLength} characters`]);
  const body = lines
    .slice(end + 1)
    .join("\n")
    .trim();
  return { fields: await parseFields(frontMatter), frontMatter, body };
}

async function parseFields(frontMatter: string): Promise<JsonObject> {
  let value: unknown;
  try {
    ({ value } = await parseYaml(frontMatter));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // The first line of the file is `---`, which is not part of the YAML.
    throw new SkillFormatError(
      error.problems.map(({ message, line }) => (line === undefined ? message : `line ${line + 1}: ${message}`)),
    );
  }
  if (!isJsonObject(value)) throw new SkillFormatError(["the front matter must be a map of fields: `name: …`"]);
  return value;
}
