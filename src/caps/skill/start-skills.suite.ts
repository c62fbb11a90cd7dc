// A host with the skill plugin only and folders for skills, for the tests of this folder.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Sandboxes } from "../../plugin/ports/sandbox.ts";
import { createSandboxes } from "../../sandboxes/sandboxes.ts";
import { startHost, type TestClientOptions } from "../../testing/start-host.ts";
import type { SkillOptions } from "./options.ts";
import { skillPlugin } from "./plugin.ts";
import type { SkillSource } from "./protocol.ts";

export type SkillFiles = Record<string, string>;

export interface StartOptions extends SkillOptions {
  sandboxes?: Sandboxes;
  workspaceDir?: string;
  dataDir?: string;
  client?: TestClientOptions;
}

/** The text of a SKILL.md; name and description are added. */
export function manifest(fields: string, body = "Do it."): string {
  return `---\ndescription: What it does.\n${fields}\n---\n${body}\n`;
}

export async function startSkills({
  sandboxes = createSandboxes(),
  client,
  workspaceDir,
  dataDir,
  ...options
}: StartOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), "a2e-skills-"));
  const at = (source: SkillSource, ...path: string[]) => join(folder, source, ...path);
  const write = async (path: string, content: string) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  };
  const host = await startHost({
    plugins: [
      skillPlugin({
        project: [at("project")],
        user: [at("user")],
        system: [at("system")],
        builtin: false,
        // A push at any time would disturb most tests.
        watch: false,
        ...options,
      }),
    ],
    sandboxes,
    dataDir: dataDir ?? join(folder, "data"),
    workspaceDir: workspaceDir ?? join(folder, "workspace"),
    ...(client === undefined ? {} : { client }),
  });
  const close = async () => {
    await host.close();
    await rm(folder, { recursive: true, force: true });
  };
  return {
    ...host,
    folder,
    at,
    skills: host.client.skill,
    /** Writes a skill: its front matter (the name is added) and further files by path. */
    async add(name: string, fields: string, { body, source = "project", version = "", ...files }: AddOptions = {}) {
      const root = at(source, name, version);
      await write(join(root, "SKILL.md"), manifest(`name: ${name}\n${fields}`, body));
      for (const [path, content] of Object.entries(files.files ?? {})) await write(join(root, path), content);
      return root;
    },
    write,
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface AddOptions {
  body?: string;
  source?: SkillSource;
  version?: string;
  files?: SkillFiles;
}

export type SkillHost = Awaited<ReturnType<typeof startSkills>>;
