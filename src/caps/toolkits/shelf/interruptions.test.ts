// Toolkits that are cancelled, raced, removed or restored while they are being changed.
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Deadlines, Expirable } from "../../../machinery/pacing/deadlines.ts";
import { createKey, createSecrets } from "../../../plugin/ports/secrets.ts";
import { core } from "../../../protocol/core.ts";
import { useTemporaryFolder } from "../../../stores/temporary-folder.suite.ts";
import type { Toolkit } from "../define-toolkit.ts";
import { createProbe, startToolkits } from "../start-toolkits.suite.ts";

const newFolder = useTemporaryFolder();

/** A toolkit whose start waits until the test lets it continue. */
function createSlowProbe(spec: Parameters<typeof createProbe>[0] = {}) {
  const probe = createProbe(spec);
  const starts: { signal: AbortSignal; finish(): void }[] = [];
  const toolkit: Toolkit = {
    ...probe.toolkit,
    start: (_config, { signal }) =>
      new Promise((resolve) => {
        starts.push({ signal, finish: () => resolve({ isOpen: true }) });
      }),
  };
  return { ...probe, toolkit, starts };
}

test("a cancelled configure changes nothing afterwards, and its start is aborted", async () => {
  const { toolkit, starts, seen } = createSlowProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  const stop = new AbortController();
  const cancelled = host.kits.configure({ toolkit_name: "probe" }, { signal: stop.signal });
  await vi.waitFor(() => expect(starts).toHaveLength(1));

  stop.abort();
  await expect(cancelled).rejects.toMatchObject({ code: "aborted" });
  await vi.waitFor(() => expect(starts[0]?.signal.aborted).toBe(true));
  starts[0]?.finish();

  await vi.waitFor(() => expect(seen.stopped).toBe(1));
  expect([await host.stateOf("probe"), await host.toolNames()]).toEqual(["available", []]);
});

test("a configure that timed out changes nothing afterwards", async () => {
  const { toolkit, starts, seen } = createSlowProbe();
  const timed = new Set<Expirable>();
  const deadlines: Deadlines = {
    add: (item) => void timed.add(item),
    delete: (item) => void timed.delete(item),
    close: () => timed.clear(),
  };
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit], host: { deadlines } });

  const timedOut = expect(host.configure("probe")).rejects.toMatchObject({ code: "timeout" });
  await vi.waitFor(() => expect(starts).toHaveLength(1));
  for (const item of timed) item.expire();
  await timedOut;
  expect(starts[0]?.signal.aborted).toBe(true);
  starts[0]?.finish();

  await vi.waitFor(() => expect(seen.stopped).toBe(1));
  expect([await host.stateOf("probe"), await host.toolNames()]).toEqual(["available", []]);
});

test("concurrent installs count towards the limit together", async () => {
  const { toolkit, starts } = createSlowProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit], max_installed: 2 });
  const outcomes = ["a", "b", "c", "d"].map((alias) =>
    host.kits.install({ toolkit_name: "probe", alias, config: {} }).then(
      ({ status }) => status,
      ({ code }: { code: string }) => code,
    ),
  );
  await vi.waitFor(() => expect(starts).toHaveLength(2));
  for (const { finish } of starts) finish();
  expect((await Promise.all(outcomes)).sort()).toEqual(["ok", "ok", "toolkit_limit", "toolkit_limit"]);
});

test("if two toolkits request the same alias at once, the first gets it", async () => {
  const [first, second] = [createSlowProbe(), createProbe({ name: "other" })];
  await using host = await startToolkits({ builtin: false, toolkits: [first.toolkit, second.toolkit] });
  const winning = host.kits.install({ toolkit_name: "probe", alias: "mine", config: {} });
  const losing = host.kits.install({ toolkit_name: "other", alias: "mine", config: {} });
  await vi.waitFor(() => expect(first.starts).toHaveLength(1));
  first.starts[0]?.finish();
  expect(await winning).toMatchObject({ status: "ok", toolkit: { name: "probe", alias: "mine" } });
  await expect(losing).rejects.toMatchObject({ code: "toolkit_conflict" });
});

test("a change that waits while a snapshot is restored does not affect the restored toolkits", async () => {
  const { toolkit, starts, seen } = createSlowProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  const first = host.kits.configure({ toolkit_name: "probe", config: { greeting: "kept" } });
  await vi.waitFor(() => expect(starts).toHaveLength(1));
  starts[0]?.finish();
  await first;
  const { snapshot_id } = await host.client.use(core).snapshot();
  const waiting = [
    host.kits.configure({ toolkit_name: "probe", config: { greeting: "late" } }),
    host.kits.uninstall({ toolkit_name: "probe" }),
  ].map((call) => call.catch((error: { code: string }) => error.code));
  await vi.waitFor(() => expect(starts).toHaveLength(2));

  await host.client.use(core).restore({ snapshot_id });
  starts[1]?.finish();

  expect(await Promise.all(waiting)).toEqual(["cancelled", "cancelled"]);
  expect((await host.kits.list()).toolkits[0]).toMatchObject({ state: "running", config: { greeting: "kept" } });
  await vi.waitFor(() => expect(seen.stopped).toBe(2));
});

test("the last call of a removed toolkit is answered before the toolkit has stopped", async () => {
  const probe = createProbe();
  const stuck: Toolkit = { ...probe.toolkit, stop: () => new Promise(() => {}) };
  await using host = await startToolkits({ builtin: false, toolkits: [stuck] });
  await host.configure("probe");
  const waiting = host.call("probe__wait");
  await vi.waitFor(() => expect(probe.gate.open.name).not.toBe("open"));
  await host.kits.uninstall({ toolkit_name: "probe" });
  probe.gate.open();
  expect(await waiting).toEqual({ is_open: true });
});

test("a start that a call waits for is aborted when the host closes", async () => {
  const path = join(newFolder(), "a2e.sqlite");
  const secrets = createSecrets(createKey());
  const options = { builtin: false, shared_admins: ["*"], path, host: { secrets } };
  const before = await startToolkits({ ...options, toolkits: [createProbe({ scope: "host" }).toolkit] });
  await before.configure("probe");
  await before.close();
  const { toolkit, starts, seen } = createSlowProbe({ scope: "host" });
  const host = await startToolkits({ ...options, toolkits: [toolkit] });
  const waiting = host.call("probe__greet", { name: "x" }).catch((error: { code: string }) => error.code);
  await vi.waitFor(() => expect(starts).toHaveLength(1));

  await host.close();

  expect(await waiting).toBe("cancelled");
  expect(starts[0]?.signal.aborted).toBe(true);
  starts[0]?.finish();
  await vi.waitFor(() => expect(seen.stopped).toBe(1));
});
