import { expect, test } from "vitest";
import { startSkills } from "./start-skills.suite.ts";

const inputs = "inputs: { topic: { type: string, required: true }, style: { type: string, default: plain } }";

test("a call returns the instructions with arguments and defaults filled in, and lists the files", async () => {
  await using host = await startSkills();
  await host.add("write", inputs, {
    body: "Write about {topic}, {style}. See references/a.md.",
    files: { "references/a.md": "A", "assets/b.bin": "BB", "tests/case.json": "{}", ".hidden": "x" },
  });

  const { data, ...answer } = await host.skills.call({ name: "write", arguments: { topic: "tides" } });

  expect(answer).toMatchObject({ name: "write", skill_version: "1.0.0", error: null });
  expect(data).toMatchObject({
    success: true,
    data: {
      instructions: "Write about tides, plain. See references/a.md.",
      resources: [
        { path: "assets/b.bin", size: 2 },
        { path: "references/a.md", size: 1 },
      ],
    },
    error: null,
    error_code: null,
    events: [],
  });
});

test("invalid arguments are answered with a schema_violation that lists each problem", async () => {
  await using host = await startSkills();
  await host.add("write", inputs);

  await expect(host.skills.call({ name: "write", arguments: { style: 7 } })).rejects.toMatchObject({
    code: "schema_violation",
    detail: {
      issues: expect.arrayContaining([
        { path: "arguments", message: 'property "topic" is required and missing' },
        { path: "arguments.style", message: "expected string, found number 7" },
      ]),
    },
  });
});

test("an invalid schema is an error of the skill, not of the host", async () => {
  await using host = await startSkills();
  await host.add("broken", "inputs: { type: object, properties: { a: { type: strng } } }");

  await expect(host.skills.call({ name: "broken", arguments: { a: 1 } })).rejects.toMatchObject({
    code: "skill_error",
    retryable: false,
    message: expect.stringContaining("its schema cannot be checked"),
  });
});

test("a schema pattern that takes for ever is stopped, and the host keeps running", async () => {
  await using host = await startSkills();
  await host.add("trap", 'inputs: { type: object, properties: { a: { type: string, pattern: "^(a+)+$" } } }');
  await host.add("fine", "");

  const trapped = host.skills.call({ name: "trap", arguments: { a: `${"a".repeat(40)}!` } });
  const beside = await host.skills.call({ name: "fine" });

  expect(beside.data?.success).toBe(true);
  await expect(trapped).rejects.toMatchObject({ code: "skill_error" });
  await expect(host.skills.call({ name: "trap", arguments: { a: "aaa" } })).resolves.toMatchObject({
    data: { success: true },
  });
});

test("arguments that would make the instructions too long are rejected", async () => {
  await using host = await startSkills();
  await host.add("many", "inputs: [topic]", { body: "{topic}{args}".repeat(5000) });

  await expect(host.skills.call({ name: "many", arguments: { topic: "x".repeat(100_000) } })).rejects.toMatchObject({
    code: "schema_violation",
    detail: { limit: "maxInstructionsLength" },
  });
});

test("llm_override and metadata are accepted and not passed on", async () => {
  await using host = await startSkills();
  await host.add("write", "", { body: "{args} {llm_override} {metadata}" });
  const llm_override = { provider_name: "x", provider_credentials: { key: "secret-key" } };

  const answer = await host.skills.call({ name: "write", llm_override, metadata: { a: "secret-too" } });

  expect(JSON.stringify(answer)).not.toContain("secret");
});
