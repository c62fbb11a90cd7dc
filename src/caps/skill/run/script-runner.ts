// Runs the scripts of skills in the sandbox of their runtime, and limits how many run at the same time.
import type { PluginContext } from "../../../plugin/plugin.ts";
import type { ProcessSandbox, SandboxLimits, ScriptSandbox } from "../../../plugin/ports/sandbox.ts";
import { messageOf } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { FolderCopies } from "../library/folder-copies.ts";
import { openSkillFile } from "../library/folder-files.ts";
import type { Skill } from "../library/skill.ts";
import type { ParsedSkillOptions } from "../options.ts";
import { cannotRun, tooManyRunning } from "../problems.ts";
import { runJavaScript } from "./javascript-run.ts";
import { runProcess } from "./process-run.ts";
import type { ScriptHost } from "./script-host.ts";
import type { ScriptResult } from "./script-messages.ts";

/** The runtime of the host's script sandbox; every other runtime is an interpreter that the config allows. */
const javascript = "javascript";

type Command = readonly [string, ...string[]];
type Script = NonNullable<Skill["script"]>;

export class ScriptRunner {
  readonly #options: ParsedSkillOptions;
  readonly #context: Pick<PluginContext, "sandboxes" | "workspaceDir">;
  readonly #copies: FolderCopies;
  readonly #interpreters: ReadonlyMap<string, Command>;
  readonly #running = new Set<Promise<unknown>>();

  constructor(
    options: ParsedSkillOptions,
    context: Pick<PluginContext, "sandboxes" | "workspaceDir">,
    copies: FolderCopies,
  ) {
    this.#options = options;
    this.#context = context;
    this.#copies = copies;
    const given = options.interpreters ?? { python: "python3", node: process.execPath };
    this.#interpreters = new Map(
      Object.entries(given).map(([runtime, command]) => [runtime, [command].flat() as unknown as Command]),
    );
  }

  /** Rejects with an A2EError. */
  async run(skill: Skill, script: Script, input: JsonObject, host: ScriptHost): Promise<ScriptResult> {
    const { max_running } = this.#options;
    if (this.#running.size >= max_running) throw tooManyRunning(max_running);
    const running =
      script.runtime === javascript
        ? this.#runJavaScript(skill, script, input, host)
        : this.#runProcess(skill, script, input, host);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Whether the script of the skill may request completions from the agent. */
  mayAskLlm(skill: Skill): boolean {
    return skill.usesLlm && this.#options.llm;
  }

  /** Waits until the processes of all calls have ended. The calls must have been aborted before. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #runJavaScript(skill: Skill, script: Script, input: JsonObject, host: ScriptHost): Promise<ScriptResult> {
    const sandbox = await this.#sandbox(skill, (): Promise<ScriptSandbox> => this.#context.sandboxes.script());
    return runJavaScript(
      skill,
      input,
      {
        sandbox,
        scriptPath: script.path,
        limits: this.#limits(),
        usesLlm: this.mayAskLlm(skill),
        maxOutputBytes: this.#options.max_output_bytes,
      },
      host,
    );
  }

  async #runProcess(skill: Skill, script: Script, input: JsonObject, host: ScriptHost): Promise<ScriptResult> {
    const { network, workspace: access, sandbox: name, max_output_bytes } = this.#options;
    const interpreter = this.#interpreters.get(script.runtime);
    if (interpreter === undefined) {
      const known = [javascript, ...this.#interpreters.keys()].join(", ");
      throw cannotRun(skill.name, `it needs the runtime "${script.runtime}", but the host allows ${known}`);
    }
    const sandbox = await this.#sandbox(skill, (): Promise<ProcessSandbox> => this.#context.sandboxes.process(name));
    const copy = await this.#copies.use(skill);
    try {
      await checkScript(skill, copy.path, script.path);
      return await runProcess(
        skill,
        input,
        {
          sandbox,
          interpreter,
          folder: copy.path,
          scriptPath: script.path,
          network: network.includes(skill.name),
          workspace: access === "none" ? undefined : { path: this.#context.workspaceDir, access },
          limits: this.#limits(),
          maxOutputBytes: max_output_bytes,
          usesLlm: this.mayAskLlm(skill),
        },
        host,
      );
    } finally {
      await copy.release();
    }
  }

  async #sandbox<Found>(skill: Skill, find: () => Promise<Found>): Promise<Found> {
    try {
      return await find();
    } catch (error) {
      throw cannotRun(skill.name, messageOf(error));
    }
  }

  #limits(): Partial<SandboxLimits> {
    return { memoryBytes: this.#options.memory_mb * 1024 * 1024 };
  }
}

/** The path in a manifest is as untrusted as a path from an agent. */
async function checkScript(skill: Skill, folder: string, path: string): Promise<void> {
  const file = await openSkillFile({ ...skill, folder }, path).catch((error: Error) => {
    throw cannotRun(skill.name, error.message);
  });
  await file.close();
}
