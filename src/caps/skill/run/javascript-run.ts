// Runs a small JavaScript script in a sandbox within this process: it starts fast, and has neither files nor modules.
import type { SandboxPolicy, ScriptSandbox } from "../../../plugin/ports/sandbox.ts";
import { A2EError, messageOf } from "../../../protocol/errors.ts";
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { checkUnchanged, openSkillFile } from "../library/folder-files.ts";
import type { Skill } from "../library/skill.ts";
import { skillLimits } from "../limits.ts";
import { cannotRun, skillFailed } from "../problems.ts";
import type { ScriptHost } from "./script-host.ts";
import { type ScriptResult, toLlmRequest, toScriptEvent } from "./script-messages.ts";

export interface JavaScriptRunSettings {
  readonly sandbox: ScriptSandbox;
  readonly scriptPath: string;
  readonly limits: SandboxPolicy["limits"];
  readonly usesLlm: boolean;
  readonly maxOutputBytes: number;
}

export async function runJavaScript(
  skill: Skill,
  input: JsonObject,
  { sandbox, scriptPath, limits, usesLlm, maxOutputBytes }: JavaScriptRunSettings,
  host: ScriptHost,
): Promise<ScriptResult> {
  const source = await readScript(skill, scriptPath);
  let saidBytes = 0;
  const functions = {
    async emit(argument: JsonValue) {
      if (isDeeperThan(argument, skillLimits.maxMessageDepth))
        throw new A2EError("schema_violation", `an event is nested deeper than ${skillLimits.maxMessageDepth} levels`);
      saidBytes += JSON.stringify(argument ?? null).length;
      if (saidBytes > maxOutputBytes) throw new A2EError("forbidden", `it emitted more than ${maxOutputBytes} bytes`);
      host.emit(toScriptEvent(argument));
      return null;
    },
    async llm(argument: JsonValue): Promise<JsonValue> {
      const request = toLlmRequest(isJsonObject(argument) ? argument : { prompt: argument });
      if (!usesLlm) throw new A2EError("forbidden", "a skill that requests completions must declare `llm: true`");
      if (typeof request === "string") throw new A2EError("schema_violation", request);
      return { ...(await host.askLlm(request)) };
    },
  };
  try {
    const data = await sandbox.run({ source, input, functions, limits, signal: host.signal });
    return { data, summary: null };
  } catch (error) {
    if (error instanceof A2EError && error.code !== "runtime_error") throw error;
    throw skillFailed(skill.name, messageOf(error));
  }
}

async function readScript(skill: Skill, path: string): Promise<string> {
  const file = await openSkillFile(skill, path).catch(async (error: Error) => {
    await checkUnchanged(skill);
    throw cannotRun(skill.name, error.message);
  });
  try {
    const { size } = await file.stat();
    if (size > skillLimits.maxScriptBytes)
      throw cannotRun(skill.name, `its script is larger than ${skillLimits.maxScriptBytes} bytes`);
    const source = await file.readFile("utf8");
    await checkUnchanged(skill);
    return source;
  } finally {
    await file.close();
  }
}
