import { describe, expect, test } from "vitest";
import { A2EError } from "../../protocol/errors.ts";
import type { RequestOf } from "../../protocol/table/capability.ts";
import { skill } from "./protocol.ts";
import { type StartOptions, startSkills } from "./start-skills.suite.ts";

type LlmRequest = RequestOf<(typeof skill.asks)["llm"]>;

const titles = `
import json, sys
def say(**message): print(json.dumps(message), flush=True)
input = json.loads(sys.stdin.readline())["input"]
answers = []
for text in input["texts"]:
    say(type="llm", id=len(answers), messages=[{"role": "user", "content": text}], max_tokens=20)
    answers.append(json.loads(sys.stdin.readline()))
say(type="result", data=answers)
`;

async function startTitles(options: StartOptions = {}, fields = "llm: true") {
  const host = await startSkills(options);
  await host.add("titles", `script: scripts/main.py\n${fields}`, { files: { "scripts/main.py": titles } });
  return host;
}

test("a script receives the completion of the agent's model, and the request names the call", async () => {
  await using host = await startTitles();
  const asked: LlmRequest[] = [];
  host.client.onAsk(skill.asks.llm, async (request) => {
    asked.push(request);
    return { content: `A title for ${request.messages[0]?.content}`, model: "small" };
  });
  const llm_override = { provider_name: "x", provider_credentials: { key: "secret-key" } };

  const { data } = await host.skills.call({
    name: "titles",
    arguments: { texts: ["one", "two"] },
    correlation_id: "mine",
    llm_override,
    metadata: { key: "secret-key" },
  });

  expect(data?.data).toEqual([
    { type: "llm", id: 0, content: "A title for one", model: "small", stop_reason: "" },
    { type: "llm", id: 1, content: "A title for two", model: "small", stop_reason: "" },
  ]);
  const call = host.wire.find(({ message }) => message.type === "skill/call/req");
  expect(asked[0]).toEqual({
    messages: [{ role: "user", content: "one" }],
    max_tokens: 20,
    skill_name: "titles",
    skill_version: "1.0.0",
    call_id: call?.message.id,
    correlation_id: "mine",
  });
  expect(JSON.stringify([asked, data])).not.toContain("secret-key");
});

describe("a script without a completion receives the reason and may continue if", () => {
  test.each([
    ["the agent answers no questions", {}, "llm: true", undefined, "unknown_type"],
    ["the agent refuses", {}, "llm: true", () => Promise.reject(new A2EError("forbidden", "not today")), "forbidden"],
    ["the skill did not declare it", {}, "", undefined, undefined],
    ["the host does not allow it", { llm: false }, "llm: true", undefined, undefined],
    ["it has asked too often", { max_llm_calls: 0 }, "llm: true", undefined, "rate_limited"],
  ] as const)("%s", async (_, options, fields, handler, code) => {
    await using host = await startTitles(options, fields);
    if (handler !== undefined) host.client.onAsk(skill.asks.llm, handler);
    const call = host.skills.call({ name: "titles", arguments: { texts: ["one"] } });

    // If it may not request completions, its stdin is closed, so that reading from it throws in the script.
    if (code === undefined) await expect(call).rejects.toMatchObject({ code: "skill_error" });
    else expect((await call).data?.data).toMatchObject([{ error: { code } }]);
  });
});

test.each(["python", "javascript"])(
  "pending completion requests of a script in %s are cancelled when it ends",
  async (kind) => {
    await using host = await startSkills();
    const python = [
      "import json, sys",
      "sys.stdin.readline()",
      'for n in range(20): print(json.dumps({"type": "llm", "id": n, "prompt": "?"}))',
      'print(json.dumps({"type": "llm", "id": 20, "prompt": "last"}), flush=True)',
      "sys.stdin.readline()",
      'print(json.dumps({"type": "result", "data": "done"}))',
    ].join("\n");
    // The answer to the last request shows that the agent has received the others.
    const javascript =
      'export default async () => { for (let n = 0; n < 20; n++) llm("?"); await llm("last"); return "done"; }';
    const [path, source] = kind === "python" ? ["main.py", python] : ["main.js", javascript];
    await host.add("hasty", `script: ${path}\nllm: true`, { files: { [path]: source } });
    const withdrawn: boolean[] = [];
    host.client.onAsk(skill.asks.llm, (request, { signal }) => {
      if (JSON.stringify(request).includes("last")) return { content: "go on" };
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          withdrawn.push(true);
          reject(new Error("withdrawn"));
        });
      });
    });

    expect((await host.skills.call({ name: "hasty" })).data?.data).toBe("done");

    await expect.poll(() => withdrawn.length).toBe(20);
  },
);
