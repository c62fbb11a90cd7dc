import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { parseHostConfig } from "../config/parsing.ts";
import { loadPlugins } from "../config/plugin-loading.ts";
import { silentLogger } from "../plugin/logger.ts";
import { plugin } from "../plugin/plugin.ts";
import { call, capability, push } from "../protocol/table/capability.ts";
import { startHost } from "../testing/start-host.ts";

const protocolUrl = (file: string) => pathToFileURL(join(import.meta.dirname, "..", file)).href;

/** Written like a third-party plugin: a file of its own that imports public modules only. */
const source = `
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { call, capability, push } from ${JSON.stringify(protocolUrl("protocol/table/capability.ts"))};
import { A2EError } from ${JSON.stringify(protocolUrl("protocol/errors.ts"))};
const empty = z.object({});
const value = z.object({ value: z.number() });
const crossed = push("work/crossed", { doc: "", payload: value, example: { value: 1 } });
const table = (type, request = empty) => call("work/" + type + "/req", "work/" + type + "/resp", { doc: "", about: { access: "write" }, request, result: value, example: { request: {}, result: { value: 1 } } });
export const work = capability("work", {
  doc: "",
  errors: { too_much: { retryable: false, doc: "" } },
  calls: { add: table("add", z.object({ by: z.number().default(1) })), block: table("block"), exit: table("exit"), refuse: table("refuse"), crash: table("crash"), nest: table("nest"), wait: table("wait") },
  pushes: { crossed },
});
export function createWork() {
  return {
    capability: work,
    session({ push: send, state }) {
      return {
        handlers: {
          add(request, context) {
            const count = (state.get("count") ?? 0) + request.by;
            state.set("count", count);
            context.emit("progress", { count });
            if (count >= 10) send(crossed, { value: count });
            return { value: count };
          },
          block() { for (;;) {} },
          exit() { process.exit(3); },
          refuse() { throw new A2EError("too_much", "no more", { detail: { limit: 3 } }); },
          crash() { throw new Error("a secret of the plugin"); },
          async nest(_, context) { return context.call(work.calls.add, { by: 5 }); },
          wait: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
        },
      };
    },
  };
}
`;

// The same table, for the client's types.
const value = z.object({ value: z.number() });
const empty = z.object({});
const table = <Request extends z.ZodObject>(request: Request) => ({
  doc: "",
  about: { access: "write" } as const,
  request,
  result: value,
  example: { request: {} as z.input<Request>, result: { value: 1 } },
});
const work = capability("work", {
  doc: "",
  calls: {
    add: call("work/add/req", "work/add/resp", table(z.object({ by: z.number().default(1) }))),
    block: call("work/block/req", "work/block/resp", table(empty)),
    exit: call("work/exit/req", "work/exit/resp", table(empty)),
    refuse: call("work/refuse/req", "work/refuse/resp", table(empty)),
    crash: call("work/crash/req", "work/crash/resp", table(empty)),
    nest: call("work/nest/req", "work/nest/resp", table(empty)),
    wait: call("work/wait/req", "work/wait/resp", table(empty)),
  },
  pushes: { crossed: push("work/crossed", { doc: "", payload: value, example: { value: 1 } }) },
});

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-isolated-"));
  await writeFile(join(folder, "work.mjs"), source);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function startIsolated(limits = {}) {
  const parsed = parseHostConfig(
    { plugins: [{ name: "work", type: "work", cls: "./work.mjs#createWork", metadata: { isolation: "worker" } }] },
    { baseDir: folder, env: {} },
  );
  if (!("config" in parsed)) throw new Error(JSON.stringify(parsed.problems));
  const [loaded] = await loadPlugins(parsed.config, { builtin: {}, log: silentLogger });
  if (loaded === undefined) throw new Error("nothing was loaded");
  const echo = capability("echo", { doc: "", calls: { say: call("echo/say/req", "echo/say/resp", table(empty)) } });
  const other = plugin(echo, { session: () => ({ handlers: { say: () => ({ value: 1 }) } }) });
  const started = await startHost({ plugins: [loaded, other], limits });
  return { ...started, work: started.client.use(work), echo: started.client.use(echo), close: started.close };
}

test("an isolated plugin answers, emits, pushes and calls other capabilities like any other", async () => {
  const { client, work: api, close } = await startIsolated();
  const events: unknown[] = [];
  const pushes: unknown[] = [];
  client.onPush("work/crossed", (message) => pushes.push(message.value));

  expect(await api.add({ by: 4 }, { onEvent: (event) => events.push(event.data) })).toEqual({ value: 4 });
  expect(await api.nest()).toEqual({ value: 9 });
  expect(await api.add()).toEqual({ value: 10 });
  expect(events).toEqual([{ count: 4 }]);
  expect(pushes).toEqual([10]);
  await close();
});

test("declared errors keep code and detail; other failures are hidden from the peer and logged completely", async () => {
  const { work: api, log, close } = await startIsolated();

  await expect(api.refuse()).rejects.toMatchObject({ code: "too_much", detail: { limit: 3 } });
  const failure = await api.crash().catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "internal_error" });
  expect(JSON.stringify(failure)).not.toContain("secret");
  expect(log.entries.some(({ fields }) => String(fields.error).includes("a secret of the plugin"))).toBe(true);
  await close();
});

test("a handler that blocks for ever times out, its thread is replaced, and calls of other plugins are answered meanwhile", async () => {
  const { work: api, echo, close } = await startIsolated({ callTimeoutMs: 3_000 });
  await api.add({ by: 2 });

  const blocked = api.block().catch((error: unknown) => error);
  let isOver = false;
  void blocked.then(() => {
    isOver = true;
  });
  for (let answered = 0; answered < 3; answered++) await echo.say();
  expect(isOver).toBe(false);
  expect(await blocked).toMatchObject({ code: "timeout", retryable: true });
  // The session continues in another thread with its state. Adding zero may be retried often.
  expect(await api.add({ by: 0 }, { retry: { maxAttempts: 5 } })).toEqual({ value: 2 });
  await close();
});

test("a thread that exits ends its calls with sandbox_crash, and its sessions continue with their state", async () => {
  const { work: api, close } = await startIsolated();
  await api.add({ by: 7 });

  await expect(api.exit()).rejects.toMatchObject({ code: "sandbox_crash" });
  expect(await api.add({ by: 1 })).toEqual({ value: 8 });
  await close();
});

test("cancelling reaches the handler in its thread", async () => {
  const { work: api, close } = await startIsolated();
  const controller = new AbortController();
  const waiting = api.wait({}, { signal: controller.signal });
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ code: "aborted" });
  expect(await api.add()).toEqual({ value: 1 });
  await close();
});
