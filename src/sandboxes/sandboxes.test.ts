import { afterEach, expect, test } from "vitest";
import type { Sandboxes } from "../host/ports/sandbox.ts";
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

test("without a name there is the best that works, or an error, but never none", async () => {
  const sandboxes = create();
  const chosen = await sandboxes.process().catch((error: Error) => error);
  if (chosen instanceof Error) expect(chosen.message).toMatch(/no sandbox works here \(bubblewrap: .*docker: /);
  else expect(["bubblewrap", "docker"]).toContain(chosen.name);
});

test("none is there for those who ask for it by name, themselves or in the config", async () => {
  expect((await create().process("none")).name).toBe("none");
  expect((await create({ default: "none" }).process()).name).toBe("none");
});

test("a sandbox that does not work is not replaced by another", async () => {
  const sandboxes = create({ dockerImage: "no-such-image-anywhere:0" });
  await expect(sandboxes.process("docker")).rejects.toThrow(/no sandbox works here \(docker: /);
});

test("the default of the host is what a plugin gets that asks for no sandbox by name", async () => {
  const sandboxes = create({ default: "none" });
  expect((await sandboxes.process()).name).toBe("none");
  expect((await sandboxes.process("auto")).name).toBe("none");
});

test("names that mean nothing, or something else, are refused", async () => {
  const sandboxes = create();
  await expect(sandboxes.process("jail")).rejects.toThrow(
    'unknown sandbox "jail"; the sandboxes are bubblewrap, docker',
  );
  await expect(sandboxes.process("constructor")).rejects.toThrow("unknown sandbox");
  await expect(sandboxes.process("quickjs")).rejects.toThrow("runs scripts");
  await expect(sandboxes.script("none")).rejects.toThrow("runs programs");
});

test("the report names every sandbox and says something about each", async () => {
  const reports = await create({ dockerImage: "no-such-image-anywhere:0" }).report();
  expect(reports.map(({ name }) => name)).toEqual(["bubblewrap", "docker", "quickjs", "none"]);
  for (const { explanation } of reports) expect(explanation.length).toBeGreaterThan(10);
  expect(reports.find(({ name }) => name === "docker")?.isUsable).toBe(false);
});

test("the network that the config does not allow is refused, whoever asks for it", async () => {
  const forbidden = await create({ isNetworkAllowed: false }).process("none");
  await expect(forbidden.confine(command, { network: true, limits: {} })).rejects.toThrow("sandbox.network");
  const allowed = await create().process("none");
  await (await allowed.confine(command, { network: true, limits: {} })).release();
});

test("closing twice is closing once, and nothing is opened afterwards", async () => {
  const sandboxes = create();
  await sandboxes.process("none");
  await sandboxes.close();
  await sandboxes.close();
  await expect(sandboxes.process("none")).rejects.toThrow("closed");
});
