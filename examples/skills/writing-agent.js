// @ts-check
// An agent that uses skills: it finds them, follows the instructions of one, and lets another run a script that asks the
// agent's own model.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectEmbedded } from "a2e";
import { startConfiguredHost, toHostConfig } from "a2e/host";
import { skill } from "a2e/skill";

const data_dir = await mkdtemp(join(tmpdir(), "a2e-writing-agent-"));
const metadata = { project: ["skills"], user: [], builtin: false };
const host = await startConfiguredHost(
  toHostConfig(
    { data_dir, plugins: [{ type: "skill", metadata }] },
    { baseDir: fileURLToPath(new URL(".", import.meta.url)) },
  ),
);
const client = await connectEmbedded(host);

// Scripts have no model and no keys: they ask, and the agent answers with whatever it has.
client.onAsk(skill.asks.llm, async ({ skill_name, messages }) => {
  console.log(`${skill_name} asks: ${messages[0]?.content.split("\n")[0]}`);
  return { content: "How the moon moves the sea, twice a day", model: "a model of the agent's choice" };
});

// What a model needs to choose: a few lines per skill.
const { skills } = await client.skill.discover({ filter_tags: ["writing"] });
for (const { name, version, kind, when_to_use, description } of skills)
  console.log(`${name}@${version} (${kind}): ${when_to_use || description}`);
assert.deepEqual(
  skills.map(({ name }) => name),
  ["house-style", "title-text"],
);

// Instructions come when they are called for, and the files that they name one by one.
const style = await client.skill.call({ name: "house-style", arguments: { kind: "notice" } });
assert(style.data?.success);
/** @type {any} */
const { instructions, resources } = style.data.data;
console.log(instructions.split("\n")[0]);
assert.match(instructions, /^# A notice for anybody/);
assert.deepEqual(
  resources.map((/** @type {{ path: string }} */ { path }) => path),
  ["references/words.md"],
);
const { content } = await client.skill.read({ name: "house-style", path: "references/words.md" });
assert.match(content, /going forward/);

// A script runs in a sandbox; this one is pinned to its version.
const titled = await client.skill.call(
  { name: "title-text", skill_version: "1.0.0", arguments: { text: "Twice a day the sea comes and goes." } },
  { onEvent: ({ kind, data }) => console.log(`${kind}: ${data.message}`) },
);
assert.deepEqual(titled.data?.data, { title: "How the moon moves the sea,", words: 6 });
console.log(`title: ${JSON.stringify(titled.data?.data)}`);

await client.disconnect();
await host.close(0);
await rm(data_dir, { recursive: true });
