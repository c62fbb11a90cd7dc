// Commands that a sandbox rejects before anything starts, so no working sandbox is needed here.
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ConfinedCommand, ProcessSandbox, SandboxPolicy } from "../../plugin/ports/sandbox.ts";
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

    test("no ordinary command", async () => {
      for (const cwd of [folder.path, "/tmp", "/usr"]) await confine({ cwd });
    });

    test.each(["/", "/usr", "/etc", "/proc", "/tmp", "/var", "/proc/self", "/sys/kernel", "/dev/shm"])(
      "%s as a workspace, and as a folder to be read",
      async (path) => {
        await expect(show(path)).rejects.toThrow(/does not show/);
        // System folders are visible anyway.
        if (path !== "/usr") await expect(confine({}, { readable: [path] })).rejects.toThrow(/does not show/);
      },
    );

    test("a link to the whole system", async () => {
      await expect(show(join(outside.path, "root"))).rejects.toThrow(/does not show/);
    });

    test("the host's own folder, by any name", async () => {
      for (const path of [at("data"), join(outside.path, "data")]) {
        await expect(show(path)).rejects.toThrow(/does not show .* its own data/);
        await expect(confine({}, { readable: [path] })).rejects.toThrow(/does not show .* its own data/);
      }
    });

    test("a folder that does not exist", async () => {
      const path = at("missing");
      await expect(show(path)).rejects.toThrow(/does not exist/);
      await expect(confine({}, { readable: [path] })).rejects.toThrow(/does not exist/);
    });

    test("a working directory that is not visible, or not a folder", async () => {
      for (const cwd of [outside.path, at("link-out"), "/root", at("missing"), at("data", "inner"), "relative"])
        await expect(confine({ cwd }), cwd).rejects.toMatchObject({ code: "ENOENT" });
      await expect(confine({ cwd: at("file") })).rejects.toMatchObject({ code: "ENOTDIR" });
    });

    testWith(rootUser)("to show private files of root to another user", async () => {
      const hidden = await makeWorkspace();
      try {
        await expect(confine({}, { readable: [hidden.path] })).rejects.toThrow(/private/);
      } finally {
        await hidden[Symbol.asyncDispose]();
      }
    });

    test("a program that was still being prepared when the sandbox was closed", async () => {
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
