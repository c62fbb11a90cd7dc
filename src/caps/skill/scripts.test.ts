import { describe, expect, test } from "vitest";
import { startSkills } from "./start-skills.suite.ts";

const reply = (expression: string) => `
import json, sys, os
line = json.loads(sys.stdin.readline())
input = line["input"]
def say(**message): print(json.dumps(message), flush=True)
${expression}
`;

const python = "script: scripts/main.py";

test("a script in Python receives its arguments, and its result is the answer", async () => {
  await using host = await startSkills();
  await host.add("double", `${python}\ninputs: { n: { type: integer, required: true } }\noutputs: { n: integer }`, {
    files: { "scripts/main.py": reply('say(type="result", data={"n": 2 * input["n"]}, summary="doubled")') },
  });

  expect(await host.skills.call({ name: "double", arguments: { n: 21 } })).toMatchObject({
    name: "double",
    skill_version: "1.0.0",
    data: { success: true, data: { n: 42 }, summary: "doubled", truncated: false, error: null, events: [] },
  });
});

test("a script in Node.js runs as a process, and may import files beside it", async () => {
  await using host = await startSkills();
  await host.add("beside", "script: scripts/main.mjs\nruntime: node", {
    files: {
      "scripts/main.mjs": `
        import { readFileSync } from "node:fs";
        import { greet } from "./greet.mjs";
        const { input } = JSON.parse(readFileSync(0, "utf8").split("\\n")[0]);
        console.log(JSON.stringify({ type: "result", data: greet(input.name) }));`,
      "scripts/greet.mjs": 'export const greet = (name) => "Hello " + name;',
    },
  });

  expect((await host.skills.call({ name: "beside", arguments: { name: "Ada" } })).data?.data).toBe("Hello Ada");
});

test("any other interpreter runs only if the config allows it", async () => {
  await using host = await startSkills({ interpreters: { shell: ["/bin/sh", "-u"] } });
  const files = { "scripts/main.sh": `read line; echo '{"type": "result", "data": "from a shell"}'` };
  await host.add("shell", "script: scripts/main.sh\nruntime: shell", { files });
  await host.add("ruby", "script: scripts/main.rb\nruntime: ruby", { files: { "scripts/main.rb": "" } });

  expect((await host.skills.call({ name: "shell" })).data?.data).toBe("from a shell");
  await expect(host.skills.call({ name: "ruby" })).rejects.toMatchObject({
    code: "skill_error",
    retryable: false,
    message: expect.stringContaining('it needs the runtime "ruby", but the host allows javascript, shell'),
  });
});

describe("events", () => {
  const files = {
    "scripts/main.py": reply(`
for n in (1, 2): say(type="event", kind="progress", data={"done": n})
print("plain words")
say(type="event", kind="artifact", data="no object")
say(type="result", data=None)`),
  };
  const expected = [
    { kind: "progress", data: { done: 1 }, seq: 1 },
    { kind: "progress", data: { done: 2 }, seq: 2 },
    { kind: "log", data: { message: "plain words" }, seq: 3 },
    { kind: "artifact", data: { value: "no object" }, seq: 4 },
  ];

  test("are streamed before the answer, and are part of it", async () => {
    await using host = await startSkills();
    await host.add("tell", python, { files });
    const streamed: unknown[] = [];

    const { data } = await host.skills.call({ name: "tell" }, { onEvent: (event) => streamed.push(event) });

    expect(data?.events).toEqual(expected);
    expect(streamed).toMatchObject(expected);
    const types = host.wire.filter(({ direction }) => direction === "received").map(({ message }) => message.type);
    expect(types.slice(1)).toEqual([...Array(4).fill("skill/event"), "skill/call/resp"]);
  });

  test("are only part of the answer if the agent does not stream", async () => {
    await using host = await startSkills();
    await host.add("tell", python, { files });
    const streamed: unknown[] = [];

    const { data } = await host.skills.call(
      { name: "tell", streaming: false },
      { onEvent: (event) => streamed.push(event) },
    );

    expect([streamed, data?.events]).toEqual([[], expected]);
  });
});

describe("a script that fails", () => {
  test.each([
    ["reports a reason", 'say(type="error", message="no such city")', { code: "skill_error", message: "no such city" }],
    [
      "throws",
      'raise ValueError("bad city")',
      {
        message: expect.stringContaining("ended with exit code 1 and gave no result: ValueError: bad city"),
        detail: { exit_code: 1, stderr: expect.stringMatching(/^Traceback.*File "scripts\/main.py"/s) },
      },
    ],
    ["ends without a result", "pass", { message: expect.stringContaining("with exit code 0 and gave no result") }],
    [
      "exits with a code that a signal would have",
      "import sys; sys.exit(139)",
      { message: expect.stringContaining("ended with exit code 139"), detail: { exit_code: 139 } },
    ],
    [
      "returns a value that its schema does not allow",
      'say(type="result", data={"n": "two"})',
      {
        retryable: false,
        message: expect.stringContaining("does not match its output schema: n: expected integer"),
        detail: { issues: [{ path: "data.n" }] },
      },
    ],
  ])("and %s is answered with a skill_error", async (_, code, error) => {
    await using host = await startSkills();
    await host.add("fails", `${python}\noutputs: { n: integer }`, { files: { "scripts/main.py": reply(code) } });

    await expect(host.skills.call({ name: "fails" })).rejects.toMatchObject({ code: "skill_error", ...error });
  });

  test("may report that in its result, which need not match its schema", async () => {
    await using host = await startSkills();
    await host.add("partly", `${python}\noutputs: { n: integer }`, {
      files: { "scripts/main.py": reply('say(type="result", data={"n": None}, error="only half of it")') },
    });

    expect((await host.skills.call({ name: "partly" })).data).toMatchObject({
      success: false,
      data: { n: null },
      error: "only half of it",
      error_code: "skill_error",
    });
  });

  test("since its file is missing, or outside of its folder, cannot run", async () => {
    await using host = await startSkills();
    for (const path of ["scripts/none.py", "../../outside.py", "/bin/sh"])
      await host.add("gone", `script: ${path}\nruntime: python`).then(async () => {
        await expect(host.skills.call({ name: "gone" })).rejects.toMatchObject({
          code: "skill_error",
          retryable: false,
        });
      });
  });
});

test("arguments are checked, and defaults filled in, before a script starts", async () => {
  await using host = await startSkills();
  await host.add("checked", `${python}\ninputs: { n: { type: integer, default: 5 } }`, {
    files: { "scripts/main.py": reply('say(type="result", data=input)') },
  });

  expect((await host.skills.call({ name: "checked" })).data?.data).toEqual({ n: 5 });
  await expect(host.skills.call({ name: "checked", arguments: { n: "x" } })).rejects.toMatchObject({
    code: "schema_violation",
  });
});

describe("the timeout", () => {
  const files = { "scripts/main.py": reply("import time\ntime.sleep(600)") };

  test("of the request ends a script", async () => {
    await using host = await startSkills();
    await host.add("slow", python, { files });

    await expect(host.skills.call({ name: "slow", timeout: 0.2 })).rejects.toMatchObject({ code: "timeout" });
  });

  test("of the skill ends a script if it is shorter", async () => {
    await using host = await startSkills();
    await host.add("slow", `${python}\ntimeout_seconds: 0.2`, { files });

    await expect(host.skills.call({ name: "slow", timeout: 600 })).rejects.toMatchObject({ code: "timeout" });
  });

  test("of the config applies if neither the call nor the skill gives one", async () => {
    await using host = await startSkills({ timeout_seconds: 0.2 });
    await host.add("slow", python, { files });

    for (const request of [{ name: "slow" }, { name: "slow", timeout: 0 }])
      await expect(host.skills.call(request)).rejects.toMatchObject({
        code: "timeout",
        detail: { timeout_seconds: 0.2 },
      });
  });

  test("does not delay a cancellation by the agent", async () => {
    await using host = await startSkills();
    await host.add("slow", python, {
      files: {
        "scripts/main.py": `${reply('say(type="event", kind="status", data={})')}\nimport time\ntime.sleep(600)`,
      },
    });
    const stop = new AbortController();

    const call = host.skills.call({ name: "slow" }, { signal: stop.signal, onEvent: () => stop.abort() });

    await expect(call).rejects.toMatchObject({ code: "aborted" });
  });
});

test("further scripts beyond the limit of the host are rejected with rate_limited", async () => {
  await using host = await startSkills({ max_running: 1 });
  const wait = 'say(type="event", kind="status", data={})\nsys.stdin.readline()\nsay(type="result", data=1)';
  await host.add("waits", `${python}\nllm: true`, { files: { "scripts/main.py": reply(wait) } });
  let begun = () => {};
  const isRunning = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const stop = new AbortController();
  const first = host.skills.call({ name: "waits" }, { onEvent: begun, signal: stop.signal });
  await isRunning;

  await expect(host.skills.call({ name: "waits" })).rejects.toMatchObject({
    code: "rate_limited",
    detail: { limit: "max_running" },
  });
  stop.abort();
  await expect(first).rejects.toMatchObject({ code: "aborted" });
});
