import { afterEach, expect, test } from "vitest";
import type { Sandboxes } from "../plugin/ports/sandbox.ts";
import { createSandboxes, type SandboxesOptions } from "./sandboxes.ts";

const opened: Sandboxes[] = [];
afterEach(async () => {
  for (const sandboxes of opened.splice(0)) await sandboxes.close();
});

function create(options?: SandboxesOptions): Sandboxes {
  const sandboxes = createSandboxes(options);
  opened.push(sandboxes);
  return sandboxes;
}

const command = { argv: ["true"] as const, cwd: "/usr", env: {} };

test('without a name, the best working sandbox is used, or an error is thrown, but never "none"', async () => {
  const sandboxes = create();
  const chosen = await sandboxes.process().catch((error: Error) => error);
  if (chosen instanceof Error) expect(chosen.message).toMatch(/no sandbox works here \(bubblewrap: .*docker: /);
  else expect(["bubblewrap", "docker"]).toContain(chosen.name);
});

test('the sandbox "none" is used only by name, in the call or in the config', async () => {
  expect((await create().process("none")).name).toBe("none");
  expect((await create({ default: "none" }).process()).name).toBe("none");
});

test("a sandbox that does not work is not replaced by another", async () => {
  const sandboxes = create({ dockerImage: "no-such-image-anywhere:0" });
  await expect(sandboxes.process("docker")).rejects.toThrow(/no sandbox works here \(docker: /);
});

test("a plugin that asks for no sandbox by name gets the default of the host", async () => {
  const sandboxes = create({ default: "none" });
  expect((await sandboxes.process()).name).toBe("none");
  expect((await sandboxes.process("auto")).name).toBe("none");
});

test("unknown names, and names of another kind, are rejected", async () => {
  const sandboxes = create();
  await expect(sandboxes.process("jail")).rejects.toThrow(
    'unknown sandbox "jail"; the sandboxes are bubblewrap, docker',
  );
  await expect(sandboxes.process("constructor")).rejects.toThrow("unknown sandbox");
  await expect(sandboxes.process("quickjs")).rejects.toThrow("runs scripts");
  await expect(sandboxes.script("none")).rejects.toThrow("runs programs");
});

test("the report names and explains every sandbox", async () => {
  const reports = await create({ dockerImage: "no-such-image-anywhere:0" }).report();
  expect(reports.map(({ name }) => name)).toEqual(["bubblewrap", "docker", "quickjs", "none"]);
  for (const { explanation } of reports) expect(explanation.length).toBeGreaterThan(10);
  expect(reports.find(({ name }) => name === "docker")?.isUsable).toBe(false);
});

test("a policy with network is rejected if the config does not allow it", async () => {
  const forbidden = await create({ isNetworkAllowed: false }).process("none");
  await expect(forbidden.confine(command, { network: true, limits: {} })).rejects.toThrow("sandbox.network");
  const allowed = await create().process("none");
  await (await allowed.confine(command, { network: true, limits: {} })).release();
});

test("closing twice is allowed, and nothing can be opened afterwards", async () => {
  const sandboxes = create();
  await sandboxes.process("none");
  await sandboxes.close();
  await sandboxes.close();
  await expect(sandboxes.process("none")).rejects.toThrow("closed");
});
