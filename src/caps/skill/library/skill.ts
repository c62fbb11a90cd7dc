// One version of a skill as it was read. Immutable, so a call uses the same version to its end.
import type { Manifest } from "../format/manifest.ts";
import type { SkillDefinition, SkillSource } from "../protocol.ts";

export interface Skill extends Manifest {
  readonly source: SkillSource;
  /** The real path of the folder. */
  readonly folder: string;
  /** Changes whenever SKILL.md changes. */
  readonly stamp: string;
}

export function toDefinition(skill: Skill, versions: readonly string[]): SkillDefinition {
  return {
    name: skill.name,
    version: skill.version,
    description: skill.description,
    triggers: [...skill.triggers],
    tools: skill.tools === undefined ? null : [...skill.tools],
    toolkits: skill.toolkits === undefined ? null : [...skill.toolkits],
    status: skill.status,
    input_schema: skill.inputSchema,
    output_schema: skill.outputSchema ?? {},
    instructions: null,
    file_path: null,
    llm_config: null,
    arguments: [...skill.argumentNames],
    when_to_use: skill.whenToUse,
    argument_hint: skill.argumentHint,
    source: skill.source,
    category: skill.categories[0] ?? null,
    categories: [...skill.categories],
    tags: [...skill.tags],
    max_turns: skill.maxTurns ?? null,
    // An integer on the wire; rounded up, so that it is never shorter than the real timeout.
    timeout_seconds: skill.timeoutSeconds === undefined ? null : Math.ceil(skill.timeoutSeconds),
    icon: skill.icon ?? null,
    metadata: skill.metadata,
    kind: skill.script === undefined ? "instructions" : "script",
    versions: [...versions],
    license: skill.license,
    compatibility: skill.compatibility,
    uses_llm: skill.usesLlm,
  };
}
