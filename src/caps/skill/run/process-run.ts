// Runs a script as a process in a sandbox, in a copy of its folder.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { isAbsolute, join } from "node:path";
import { chargeSeconds } from "../../../machinery/process-seconds.ts";
import type { Confinement, ProcessSandbox, SandboxPolicy } from "../../../plugin/ports/sandbox.ts";
import { A2EError, fail, messageOf } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Skill } from "../library/skill.ts";
import { cannotRun, skillFailed } from "../problems.ts";
import { type TalkOutcome, talkToScript } from "./process-talk.ts";
import type { ScriptHost } from "./script-host.ts";
import type { ScriptResult } from "./script-messages.ts";

export interface ProcessRunSettings {
  readonly sandbox: ProcessSandbox;
  /** The command that runs scripts of this runtime; the script is appended. */
  readonly interpreter: readonly [string, ...string[]];
  /** The copy of the skill's folder. */
  readonly folder: string;
  readonly scriptPath: string;
  readonly network: boolean;
  readonly workspace: SandboxPolicy["workspace"];
  readonly limits: SandboxPolicy["limits"];
  readonly maxOutputBytes: number;
  readonly usesLlm: boolean;
}

export async function runProcess(
  skill: Skill,
  input: JsonObject,
  settings: ProcessRunSettings,
  host: ScriptHost,
): Promise<ScriptResult> {
  const { name, version } = skill;
  let kill = () => {};
  const stopCharging = chargeSeconds(host.charge, () => kill());
  let confinement: Confinement | undefined;
  try {
    confinement = await confine(skill, settings);
    host.signal.throwIfAborted();
    const child = spawn(confinement.file, [...confinement.args], {
      cwd: confinement.cwd,
      env: { ...confinement.env },
      // The last pipe is for the report of the sandbox.
      stdio: ["pipe", "pipe", "pipe", "pipe"],
      // Leads its own process group, so that its children can be killed with it.
      detached: true,
    }) as ChildProcessWithoutNullStreams;
    const { pid } = child;
    // Checked first: a process that could not be started may have no pipes.
    if (pid === undefined) throw notStarted(name, (await once(child, "error"))[0]);
    kill = () => {
      try {
        process.kill(-pid, "SIGKILL");
      } catch {
        // The group has ended already.
      }
    };
    const outcome = await talkToScript(
      child,
      {
        input: { type: "input", input, skill: { name, version } },
        usesLlm: settings.usesLlm,
        maxOutputBytes: settings.maxOutputBytes,
        kill,
      },
      host,
    ).catch((cause: unknown) => {
      throw notStarted(name, cause);
    });
    // Kills the children that the script has left running in its group.
    kill();
    host.signal.throwIfAborted();
    // A stack trace contains the path of the copy, which agents must not see.
    const stderr = outcome.stderr.replaceAll(`${settings.folder}/`, "");
    return outcome.result ?? fail(await explain(skill, { ...outcome, stderr }, confinement));
  } finally {
    stopCharging();
    await confinement?.release();
  }
}

async function confine(skill: Skill, settings: ProcessRunSettings): Promise<Confinement> {
  const { sandbox, interpreter, folder, scriptPath, network, workspace, limits } = settings;
  const [program] = interpreter;
  const env = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: "/tmp",
    LANG: "C.UTF-8",
    // The folder is read-only, and stdout carries messages.
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONUNBUFFERED: "1",
    A2E_SKILL: skill.name,
    A2E_SKILL_VERSION: skill.version,
    ...(workspace === undefined ? {} : { A2E_WORKSPACE: workspace.path }),
  };
  const policy: SandboxPolicy = {
    network,
    ...(workspace === undefined ? {} : { workspace }),
    readable: [folder, ...(isAbsolute(program) ? [program] : [])],
    limits,
  };
  try {
    const argv = [...interpreter, join(folder, scriptPath)] as const;
    return await sandbox.confine({ argv, cwd: folder, env, isReported: true }, policy);
  } catch (error) {
    const reason = messageOf(error);
    throw cannotRun(skill.name, reason.replaceAll(folder, "its folder"));
  }
}

function notStarted(name: string, cause: unknown): A2EError {
  const why = messageOf(cause);
  return cannotRun(name, `its sandbox could not be started (${why})`);
}

/** Explains why there is no result. */
async function explain({ name }: Skill, outcome: TalkOutcome, confinement: Confinement): Promise<A2EError> {
  const { stderr, problem } = outcome;
  if (problem !== undefined) return skillFailed(name, problem, withStderr(stderr));
  const exit = confinement.exitOf(outcome, outcome.report);
  const verdict = await confinement.verdict({ ...exit, stderr });
  const isFull = confinement.isWorkspaceFull?.() === true;
  if (verdict !== undefined)
    return new A2EError(
      verdict,
      `the script of "${name}" was ended by its sandbox${isFull ? ": the workspace is full" : ""}`,
      {
        capability_name: "skill",
        detail: { name, ...withStderr(stderr) },
      },
    );
  const { code, signal } = exit;
  const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
  // The last line of a stack trace is the error itself.
  const last = stderr.trimEnd().split("\n").at(-1)?.trim() ?? "";
  const why = last === "" ? "" : `: ${last.slice(0, 300)}`;
  return skillFailed(name, `the script of "${name}" ended ${how} and gave no result${why}`, {
    ...withStderr(stderr),
    ...(code === null ? {} : { exit_code: code }),
  });
}

function withStderr(stderr: string): Record<string, string> {
  return stderr.trim() === "" ? {} : { stderr: stderr.trim() };
}
