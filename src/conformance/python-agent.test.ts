// A real Python agent against a real host, which the suite only imitates.
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { A2EHost } from "../host/host.ts";
import { type RunningServer, startServer } from "../server/http-server.ts";
import { describeWith, program } from "../testing/needs.suite.ts";
import { createReferenceFolder, referenceToken, startReferenceHost } from "./reference-host.suite.ts";
import { decodeAsSdk } from "./sdk-decoder.ts";

const script = fileURLToPath(new URL("./python/agent.py", import.meta.url));

describeWith(program("python3"))("an agent in Python", () => {
  let folder: string;
  let host: A2EHost;
  let server: RunningServer;
  let seen: Record<string, unknown>;

  beforeAll(async () => {
    folder = await createReferenceFolder();
    host = await startReferenceHost(folder);
    server = await startServer(host, { port: 0 });
    seen = await runAgent(server.url);
  });

  afterAll(async () => {
    await server?.close();
    await host?.close(0);
    await rm(folder, { recursive: true, force: true });
  });

  test("shakes hands under the session id that HTTP gave it, in words that the SDK's enum has", () => {
    const hello = seen.handshake as {
      session_id: string;
      ok: boolean;
      accepted_caps: { capability: string; enabled: boolean }[];
    };
    expect(hello).toMatchObject({ ok: true, session_id: seen.session_id });
    expect(hello.accepted_caps.map(({ capability, enabled }) => [capability, enabled])).toEqual([
      ["tools", true],
      ["skill", true],
      ["learning", false],
    ]);
    expect(decodeAsSdk(JSON.stringify(hello)).kind).toBe("message");
  });

  test("lists the tools", () => {
    expect(seen.tools).toContain("conformance_echo");
    expect(seen.tools).not.toContain("conformance_deferred");
  });

  test("gets back text with every character at which its reader would cut a line", () => {
    expect(seen.echoed_text).toBe(seen.sent_text);
    expect(seen.dropped).toEqual([]);
  });

  test("gets all events before the answer, numbered", () => {
    expect(seen.emit).toMatchObject({ type: "tool/call/resp", data: { success: true, data: { count: 5 } } });
    expect((seen.events as { seq: number }[]).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  });

  test("may post a request again under its id: it ran once", () => {
    expect(seen.counts).toEqual([1, 1]);
  });

  test("may write NaN and infinities", () => {
    expect(seen.not_a_number).toEqual([null, null, null]);
  });

  test("receives an unknown tool as an error that it can decode", () => {
    expect(seen.unknown_tool).toMatchObject({ type: "error", code: "unknown_tool", retryable: false });
    expect(decodeAsSdk(JSON.stringify(seen.unknown_tool)).kind).toBe("message");
  });

  test("finds skills and calls one of them, with answers and events that it can decode", () => {
    const { skills } = seen.skills as { skills: { name: string }[] };
    expect(skills.map(({ name }) => name)).toContain("conformance-script");
    expect(seen.skill).toMatchObject({
      type: "skill/call/resp",
      data: { success: true, data: { echo: seen.sent_text } },
    });
    expect((seen.skill_events as { seq: number }[]).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    for (const message of [seen.skills, seen.skill, ...(seen.skill_events as unknown[])])
      expect(decodeAsSdk(JSON.stringify(message)).kind).toBe("message");
  });

  test("pings, and leaves with a shutdown that ends its stream", () => {
    expect(seen.pong).toMatchObject({ type: "pong" });
    expect(seen.stream_ended).toBe(true);
    expect(seen.unsolicited).toEqual(["session/closed"]);
    expect(host.sessions.size).toBe(0);
  });
});

function runAgent(url: string): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    execFile(
      "python3",
      [script, url, referenceToken],
      { timeout: 240_000, env: { ...process.env, PYTHONIOENCODING: "utf-8" } },
      (error, stdout, stderr) => {
        if (error !== null) reject(new Error(`the agent failed: ${stderr === "" ? error.message : stderr}`));
        else resolve(JSON.parse(stdout) as Record<string, unknown>);
      },
    );
  });
}
