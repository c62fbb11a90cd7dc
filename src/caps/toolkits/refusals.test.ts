// Rejected names, aliases, numbers and sizes.
import { expect, test } from "vitest";
import { createProbe, startToolkits } from "./start-toolkits.suite.ts";

test.each(["", "prob", "toString", "__proto__", "constructor", "x".repeat(128)])(
  "%j is answered as an unknown toolkit by every call",
  async (toolkit_name) => {
    const { toolkit } = createProbe();
    await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
    for (const refused of [
      host.kits.configure({ toolkit_name }),
      host.kits.install({ toolkit_name }),
      host.kits.install({ toolkit_name, config: {} }),
      host.kits.uninstall({ toolkit_name }),
    ])
      await expect(refused).rejects.toMatchObject({ code: "unknown_toolkit", detail: { available: ["probe"] } });
  },
);

test("a toolkit that is not installed cannot be uninstalled", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  await expect(host.kits.uninstall({ toolkit_name: "probe" })).rejects.toMatchObject({ code: "not_installed" });
});

test.each(["A", "a b", "a__b", "_a", "a/b", "../a", "ä", "a".repeat(49), "__proto__"])(
  "%j is not a valid alias",
  async (alias) => {
    const { toolkit } = createProbe();
    await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
    await expect(host.kits.install({ toolkit_name: "probe", alias })).rejects.toMatchObject({
      code: "schema_violation",
    });
  },
);

test("an alias that is in use is rejected, and the same alias for the same toolkit is not a conflict", async () => {
  const [first, second] = [createProbe(), createProbe({ name: "other" })];
  await using host = await startToolkits({ builtin: false, toolkits: [first.toolkit, second.toolkit] });
  await host.kits.install({ toolkit_name: "probe", alias: "mine" });
  await expect(host.kits.install({ toolkit_name: "other", alias: "mine" })).rejects.toMatchObject({
    code: "toolkit_conflict",
  });
  await expect(host.kits.install({ toolkit_name: "other", alias: "probe" })).rejects.toMatchObject({
    code: "toolkit_conflict",
  });
  expect(await host.kits.install({ toolkit_name: "probe", alias: "mine" })).toMatchObject({ status: "ok" });
});

test("a session cannot install more toolkits than its limit", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit], max_installed: 2 });
  for (const alias of ["a", "b"]) await host.kits.install({ toolkit_name: "probe", alias });
  for (const refused of [
    host.kits.install({ toolkit_name: "probe", alias: "c" }),
    host.kits.install({ toolkit_name: "probe", alias: "d", config: {} }),
    host.configure("probe"),
  ])
    await expect(refused).rejects.toMatchObject({ code: "toolkit_limit", detail: { max_installed: 2 } });
  await host.kits.uninstall({ toolkit_name: "a" });
  await host.kits.install({ toolkit_name: "probe", alias: "c" });
});

test("a config that is too large is rejected", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  await expect(host.configure("probe", { greeting: "x".repeat(70_000) })).rejects.toMatchObject({
    code: "schema_violation",
  });
});
