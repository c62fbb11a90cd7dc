// Checks whether the names in a plan exist in a session: tools, skills, capabilities, fields of the initial input.
import type { CallOther } from "../../plugin/call-context.ts";
import type { SessionContext } from "../../plugin/plugin.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { Compiled, Names } from "./plan/compile.ts";
import { ProblemList } from "./plan/problem-list.ts";
import type { ChainProblem } from "./protocol.ts";

/** All problems of a chain in this session. Synchronous unless the chain names a skill. */
export function findProblems(
  { names: plan, problems: known }: Compiled,
  input: JsonObject | undefined,
  context: SessionContext,
  call: CallOther,
): readonly ChainProblem[] | Promise<readonly ChainProblem[]> {
  const { granted } = context.session;
  const problems = new ProblemList(known);
  const misses = (capability: string) => granted !== undefined && !granted.has(capability);
  if (plan.tools.size > 0) {
    if (misses("tools")) addMissing(problems, "tools", plan.tools);
    else
      for (const [name, users] of plan.tools)
        if (context.tools.get(name) === undefined) addUnknownTool(problems, name, users, context);
  }
  if (plan.hasProcs && misses("proc")) addMissing(problems, "proc", new Map());
  if (input !== undefined) {
    for (const [name, users] of plan.inputs)
      if (!Object.hasOwn(input, name)) addUnknownName(problems, name, users, plan);
  }
  const actions = [...plan.actions].filter(([name]) => misses("tools") || context.tools.get(name) === undefined);
  if (plan.skills.size === 0 && actions.length === 0) return problems.all;
  return checkSkills(plan, actions, problems, misses("skill"), call);
}

function addMissing(problems: ProblemList, capability: string, users: ReadonlyMap<string, readonly string[]>): void {
  const [[user] = []] = users.values();
  const message = `the chain needs the capability "${capability}", which was not negotiated`;
  problems.add("capability_missing", message, user);
}

function addUnknownTool(problems: ProblemList, name: string, users: readonly string[], context: SessionContext): void {
  const known = context.tools.list().map((tool) => tool.name);
  const hint = problems.hint(name, known);
  for (const user of users)
    problems.add("unknown_tool", `"${user}" names "${name.slice(0, 80)}", which is not a tool${hint}`, user);
}

function addUnknownName(problems: ProblemList, name: string, users: readonly string[], plan: Names): void {
  const hint = problems.hint(name, [...plan.indexOf.keys()]);
  for (const user of users) {
    const message = `"${user}" reads "${name.slice(0, 80)}", which is neither a node nor a field of the initial input${hint}`;
    problems.add("unknown_node", message, user);
  }
}

async function checkSkills(
  plan: Names,
  actions: readonly (readonly [string, readonly string[]])[],
  problems: ProblemList,
  isMissing: boolean,
  call: CallOther,
): Promise<readonly ChainProblem[]> {
  if (isMissing && plan.skills.size > 0) addMissing(problems, "skill", plan.skills);
  const known = isMissing ? new Set<string>() : await listSkills(call);
  const unknown = [...(isMissing ? [] : [...plan.skills]), ...actions].filter(([name]) => !known.has(name));
  for (const [name, users] of unknown) {
    const isSkill = plan.skills.has(name);
    const hint = problems.hint(name, known);
    for (const user of users)
      problems.add(
        isSkill ? "unknown_skill" : "unknown_tool",
        `"${user}" names "${name.slice(0, 80)}", which is ${isSkill ? "not a skill" : "neither a tool nor a skill"}${hint}`,
        user,
      );
  }
  return problems.all;
}

async function listSkills(call: CallOther): Promise<Set<string>> {
  const { skills } = await call("skill/discover/req", {});
  const names = (Array.isArray(skills) ? skills : []).map((skill) => (skill as JsonObject).name as JsonValue);
  return new Set(names.filter((name) => typeof name === "string"));
}
