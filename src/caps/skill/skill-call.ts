// One call of a skill, from its request to its result.

import { CollectedEvents } from "../../machinery/collected-events.ts";
import { isLargerThan } from "../../machinery/validation/json-size.ts";
import type { CallContext } from "../../plugin/call-context.ts";
import type { SessionContext } from "../../plugin/plugin.ts";
import { isDeeperThan, type JsonObject } from "../../protocol/json.ts";
import type { RequestOf, ResultInputOf } from "../../protocol/table/capability.ts";
import { fillPlaceholders } from "./format/placeholders.ts";
import type { SkillLibrary } from "./library/library.ts";
import { listResources } from "./library/resources.ts";
import type { Skill } from "./library/skill.ts";
import { SkillChanged } from "./library/skill-changed.ts";
import { skillLimits } from "./limits.ts";
import type { ParsedSkillOptions } from "./options.ts";
import { badArguments, badOutput, instructionsTooLong, skillBlocked, skillFailed } from "./problems.ts";
import type { skill as table } from "./protocol.ts";
import { createLlmAsks } from "./run/llm-asks.ts";
import type { SchemaChecks } from "./run/schema-check.ts";
import type { ScriptResult } from "./run/script-messages.ts";
import type { ScriptRunner } from "./run/script-runner.ts";

type CallRequest = RequestOf<(typeof table.calls)["call"]>;
type CallResult = ResultInputOf<(typeof table.calls)["call"]>;

/** Shared by all sessions. */
export interface SkillEngine {
  readonly library: SkillLibrary;
  readonly runner: ScriptRunner;
  readonly schemas: SchemaChecks;
  readonly options: ParsedSkillOptions;
}

export async function callSkill(
  request: CallRequest,
  call: CallContext,
  session: Pick<SessionContext, "ask">,
  engine: SkillEngine,
): Promise<CallResult> {
  return withSkill(engine.library, request, (skill) => callFound(skill, request, call, session, engine));
}

async function callFound(
  skill: Skill,
  request: CallRequest,
  call: CallContext,
  session: Pick<SessionContext, "ask">,
  engine: SkillEngine,
): Promise<CallResult> {
  call.setTimeout(timeoutOf(request, skill, engine.options));
  const checked = await engine.schemas.check(skill.name, skill.inputSchema, request.arguments, call);
  if ("problems" in checked) throw badArguments(skill.name, checked.problems);
  const events = new CollectedEvents({
    maxEvents: skillLimits.maxCollectedEvents,
    maxBytes: skillLimits.maxCollectedEventBytes,
  });
  const result =
    skill.script === undefined
      ? await renderInstructions(skill, checked.value)
      : await runScript(skill, skill.script, checked.value, request, call, session, engine, events);
  const now = call.clock.now();
  return {
    name: skill.name,
    skill_version: skill.version,
    data: {
      success: result.error === undefined,
      data: result.data,
      summary: result.summary,
      truncated: false,
      error: result.error ?? null,
      error_code: result.error === undefined ? null : "skill_error",
      duration_ms: Math.max(0, Math.round(now - call.startedAt)),
      events: events.toList(),
    },
    error: null,
    created_at: now / 1000,
  };
}

/** Uses a skill. If its folder changes meanwhile, it starts again, so that an answer never mixes two versions. */
export async function withSkill<Result>(
  library: SkillLibrary,
  request: { name: string; skill_version: string },
  use: (skill: Skill) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const skill = await findSkill(library, request);
    try {
      return await use(skill);
    } catch (error) {
      if (!(error instanceof SkillChanged)) throw error;
      if (attempt === skillLimits.maxReads)
        throw skillFailed(skill.name, `the folder of "${skill.name}" keeps changing; try again later`);
    }
  }
}

/** The name may end in `@version`, for agents whose SDK has no field for the version. */
async function findSkill(
  library: SkillLibrary,
  { name, skill_version }: { name: string; skill_version: string },
): Promise<Skill> {
  const at = name.lastIndexOf("@");
  const [plain, pinned] = at <= 0 ? [name, ""] : [name.slice(0, at), name.slice(at + 1)];
  const skill = await library.find(plain, skill_version === "" ? pinned : skill_version);
  if (skill.status === "Blocked") throw skillBlocked(skill.name);
  return skill;
}

/** The smaller of the timeouts of the call and of the skill, or the option if neither gives one. */
function timeoutOf(request: CallRequest, skill: Skill, options: ParsedSkillOptions): number {
  const asked = [request.timeout, skill.timeoutSeconds ?? 0].filter((seconds) => seconds > 0);
  return 1000 * (asked.length === 0 ? options.timeout_seconds : Math.min(...asked));
}

async function renderInstructions(skill: Skill, args: JsonObject): Promise<ScriptResult> {
  const instructions = fillPlaceholders(skill.instructions, new Set(skill.argumentNames), args);
  if (instructions === undefined) throw instructionsTooLong(skill.name, skillLimits.maxInstructionsLength);
  return { data: { instructions, resources: await listResources(skill) }, summary: null };
}

async function runScript(
  skill: Skill,
  script: NonNullable<Skill["script"]>,
  input: JsonObject,
  request: CallRequest,
  call: CallContext,
  session: Pick<SessionContext, "ask">,
  { runner, schemas, options }: SkillEngine,
  events: CollectedEvents,
): Promise<ScriptResult> {
  const llm = createLlmAsks(session, call, skill, {
    correlationId: request.correlation_id,
    maxCalls: options.max_llm_calls,
  });
  const result = await runner
    .run(skill, script, input, {
      emit({ kind, data }) {
        if (request.streaming) call.emit(kind, data);
        events.add(kind, data);
      },
      askLlm: (asked) => llm.ask(asked),
      signal: call.signal,
      charge: call.charge,
    })
    .finally(() => llm.end());
  const outcome = [result.data, result.summary];
  if (isDeeperThan(outcome, skillLimits.maxMessageDepth) || isLargerThan(outcome, skillLimits.maxLineBytes))
    throw skillFailed(skill.name, `its result is larger than ${skillLimits.maxLineBytes} bytes or nested too deeply`);
  // A result with an error need not match the output schema.
  if (skill.outputSchema === undefined || result.error !== undefined) return result;
  const checked = await schemas.check(skill.name, skill.outputSchema, result.data, call);
  if ("problems" in checked) throw badOutput(skill.name, checked.problems);
  return { ...result, data: checked.value };
}
