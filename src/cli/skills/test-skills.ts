// `a2e skills test`: checks whether folders are skills, and runs their test cases.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Skill } from "../../caps/skill/library/skill.ts";
import { type FoundSkill, isBroken, readSkillFolder } from "../../caps/skill/library/skill-folder.ts";
import { skill as table } from "../../caps/skill/protocol.ts";
import { A2EClient } from "../../client/client.ts";
import { startConfiguredHost } from "../../compose/configured-host.ts";
import { toHostConfig } from "../../config/parsing.ts";
import { messageOf } from "../../protocol/errors.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { toPlainLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";
import { runSkillCase, skillCase } from "./skill-case.ts";

/** The folders of a project's skills, if no folder is named. */
const projectRoots = ["skills", ".agents/skills"];

interface Tally {
  passed: number;
  failed: number;
}

export async function testSkills(folders: readonly string[], terminal: Terminal): Promise<void> {
  const found = folders.length > 0 ? folders.map((path) => resolve(terminal.cwd, path)) : await findFolders(terminal);
  if (found.length === 0)
    throw new CliError(`there are no skills in ${projectRoots.join(" and ")}`, {
      exitCode: exitCodes.usage,
      hint: `Name a folder, or make one: ${terminal.program} skills new my-skill`,
    });
  const tally: Tally = { passed: 0, failed: 0 };
  for (const folder of found) await testFolder(folder, tally, terminal);
  terminal.note(`\n${tally.passed} passed, ${tally.failed} failed`);
  if (tally.failed > 0) terminal.exitCode = exitCodes.failed;
}

async function findFolders({ cwd }: Terminal): Promise<string[]> {
  const byRoot = projectRoots.map(async (root) => {
    const entries = await readdir(join(cwd, root), { withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => !entry.isFile()).map((entry) => join(cwd, root, entry.name));
  });
  return (await Promise.all(byRoot)).flat().sort();
}

async function testFolder(folder: string, tally: Tally, terminal: Terminal): Promise<void> {
  const report = createReport(tally, terminal);
  const root = { path: dirname(folder), source: "project" as const };
  const found = await readSkillFolder(root, basename(folder), new Map());
  if (found.length === 0) return report(relative(terminal.cwd, folder), ["has no SKILL.md"]);
  const skills: Skill[] = [];
  for (const one of found) {
    report(titleOf(one, terminal), isBroken(one) ? one.problems : []);
    if (!isBroken(one)) skills.push(one);
  }
  const cases = await Promise.all(skills.map(async (skill) => ({ skill, names: await caseNames(skill) })));
  if (cases.every(({ names }) => names.length === 0)) return;
  await withHost(dirname(folder), terminal, async (client) => {
    for (const { skill, names } of cases)
      for (const name of names)
        report(
          `${titleOf(skill, terminal)}: ${name}`,
          await runCase(client, skill, name).catch((error) => [messageOf(error)]),
        );
  });
}

function titleOf(found: FoundSkill, { cwd }: Terminal): string {
  return isBroken(found) ? relative(cwd, found.folder) : `${found.name}@${found.version}`;
}

async function caseNames({ folder }: Skill): Promise<string[]> {
  const names = await readdir(join(folder, "tests")).catch(() => []);
  return names.filter((name) => name.endsWith(".json")).sort();
}

async function runCase(client: A2EClient, { folder, name, version }: Skill, file: string): Promise<string[]> {
  const parsed = skillCase.safeParse(JSON.parse(await readFile(join(folder, "tests", file), "utf8")));
  if (parsed.success) return runSkillCase(client, name, version, parsed.data);
  return parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the case"}: ${message}`);
}

function createReport(tally: Tally, { print, style }: Terminal) {
  return (title: string, problems: readonly string[]) => {
    if (problems.length === 0) {
      tally.passed += 1;
      return print(`${style.green("✓")} ${toPlainLine(title)}`);
    }
    tally.failed += 1;
    print(`${style.red("✗")} ${toPlainLine(title)}`);
    for (const problem of problems) print(`    ${toPlainLine(problem)}`);
  };
}

/** A host with these skills only, which leaves no file behind. */
async function withHost(root: string, terminal: Terminal, use: (client: A2EClient) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "a2e-skills-test-"));
  try {
    const metadata = { project: [root], user: [], builtin: false, watch: false };
    const config = toHostConfig(
      {
        data_dir: folder,
        audit: { enabled: false },
        persistence: { enabled: false },
        snapshot_store: { type: "memory" },
        plugins: [{ type: "skill", metadata }],
      },
      { baseDir: terminal.cwd, env: {} },
    );
    const host = await startConfiguredHost(config, { areSessionsKept: false });
    try {
      const transport = createDirectTransport(() => host.sessions.create());
      const client = await A2EClient.connect({ transport, capabilities: [table.name], timeoutMs: 0 });
      await use(client).finally(() => client.disconnect());
    } finally {
      await host.close(0);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
