// What a sandbox refuses before anything starts, so that it is shown without one that works here.
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ConfinedCommand, ProcessSandbox, SandboxPolicy } from "../../host/ports/sandbox.ts";
import { rootUser, testWith } from "../../testing/needs.suite.ts";
import { makeWorkspace } from "./confined-run.suite.ts";

export function testRefusals(name: string, open: (hidden: readonly string[]) => Promise<ProcessSandbox>): void {
  describe(`${name} refuses`, () => {
    let sandbox: ProcessSandbox;
    let folder: Awaited<ReturnType<typeof makeWorkspace>>;
    let outside: Awaited<ReturnType<typeof makeWorkspace>>;
    const at = (...names: string[]) => join(folder.path, ...names);

    beforeAll(async () => {
      folder = await makeWorkspace();
      outside = await makeWorkspace();
      await mkdir(at("data", "inner"), { recursive: true });
      await writeFile(at("file"), "");
      await symlink(outside.path, at("link-out"));
      await symlink("/", join(outside.path, "root"));
      await symlink(at("data"), join(outside.path, "data"));
      sandbox = await open([at("data")]);
    });
    afterAll(async () => {
      await sandbox.close();
      await folder[Symbol.asyncDispose]();
      await outside[Symbol.asyncDispose]();
    });

    async function confine(command: Partial<ConfinedCommand>, policy: Partial<SandboxPolicy> = {}): Promise<void> {
      const workspace = { path: folder.path, access: "write" as const };
      const whole = { network: false, workspace, limits: {}, ...policy };
      const confinement = await sandbox.confine({ argv: ["true"], cwd: folder.path, env: {}, ...command }, whole);
      await confinement.release();
    }
    const show = (path: string) => confine({ cwd: "/usr" }, { workspace: { path, access: "read" } });

    test("nothing of an ordinary command", async () => {
      for (const cwd of [folder.path, "/tmp", "/usr"]) await confine({ cwd });
    });

    test.each(["/", "/usr", "/etc", "/proc", "/tmp", "/var", "/proc/self", "/sys/kernel", "/dev/shm"])(
      "%s as a workspace, and as a folder to be read",
      async (path) => {
        await expect(show(path)).rejects.toThrow(/does not show/);
        // What is of the system is there already.
        if (path !== "/usr") await expect(confine({}, { readable: [path] })).rejects.toThrow(/does not show/);
      },
    );

    test("a link to the whole system", async () => {
      await expect(show(join(outside.path, "root"))).rejects.toThrow(/does not show/);
    });

    test("the host's own folder, by whatever name", async () => {
      for (const path of [at("data"), join(outside.path, "data")]) {
        await expect(show(path)).rejects.toThrow(/does not show .* its own data/);
        await expect(confine({}, { readable: [path] })).rejects.toThrow(/does not show .* its own data/);
      }
    });

    test("a folder that is not there", async () => {
      const path = at("missing");
      await expect(show(path)).rejects.toThrow(/there is no such/);
      await expect(confine({}, { readable: [path] })).rejects.toThrow(/there is no such/);
    });

    test("a working directory that is not shown, or none", async () => {
      for (const cwd of [outside.path, at("link-out"), "/root", at("missing"), at("data", "inner"), "relative"])
        await expect(confine({ cwd }), cwd).rejects.toMatchObject({ code: "ENOENT" });
      await expect(confine({ cwd: at("file") })).rejects.toMatchObject({ code: "ENOTDIR" });
    });

    testWith(rootUser)("to show somebody else what is private to root", async () => {
      const hidden = await makeWorkspace();
      try {
        await expect(confine({}, { readable: [hidden.path] })).rejects.toThrow(/private/);
      } finally {
        await hidden[Symbol.asyncDispose]();
      }
    });

    test("a program that it was still preparing when it was closed", async () => {
      const closing = await open([]);
      const confining = closing.confine({ argv: ["true"], cwd: "/tmp", env: {} }, { network: false, limits: {} });
      const refused = expect(confining).rejects.toThrow("closed");
      await closing.close();
      await refused;
      await closing.close();
    });

    test.each([{ "": "x" }, { "A=B": "x" }, { A: "a\0b" }])("%j as an environment", async (env) => {
      await expect(confine({ env })).rejects.toThrow(/name|character/);
    });
  });
}
