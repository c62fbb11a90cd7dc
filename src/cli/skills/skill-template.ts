// The files that `a2e skills new` writes: a skill that passes its own test.

export const skillKinds = ["instructions", "javascript", "python", "node"] as const;
export type SkillKind = (typeof skillKinds)[number];

/** Files by path within the folder of the skill. */
export function createSkillFiles(name: string, kind: SkillKind): Record<string, string> {
  return kind === "instructions" ? createInstructions(name) : createScript(name, scripts[kind]);
}

function frontMatter(name: string, fields: string): string {
  return `---
name: ${name}
description: Say what it does and when to use it; agents choose by this line.
version: 0.1.0
tags: []
${fields}inputs:
  type: object
  properties:
    topic: { type: string, description: What it is about. }
  required: [topic]
`;
}

function createInstructions(name: string): Record<string, string> {
  return {
    "SKILL.md": `${frontMatter(name, "")}---

# ${name}

1. Say what to do with {topic}, step by step.
2. Point to files that are read only when they are needed: \`references/details.md\`.
`,
    "references/details.md": "# Details\n",
    "tests/fills-in-the-topic.json": toJson({ arguments: { topic: "tides" }, contains: ["with tides"] }),
  };
}

interface Script {
  path: string;
  runtime: string;
  text: string;
}

function createScript(name: string, { path, runtime, text }: Script): Record<string, string> {
  const outputs = "outputs:\n  type: object\n  properties: { topic: { type: string } }\n  required: [topic]\n";
  return {
    "SKILL.md": `${frontMatter(name, `script: ${path}\n${runtime}`)}${outputs}---

# ${name}

A call runs \`${path}\`.
`,
    [path]: text,
    "tests/returns-the-topic.json": toJson({ arguments: { topic: "tides" }, expect: { topic: "tides" } }),
  };
}

const scripts: Record<Exclude<SkillKind, "instructions">, Script> = {
  javascript: {
    path: "scripts/main.js",
    runtime: "",
    text: `// Runs in a sandbox without files, network or timers. \`emit\` sends an event; with \`llm: true\` in SKILL.md, \`llm\` asks
// the agent's model.
export default async function main({ topic }) {
  await emit({ kind: "progress", data: { message: "working" } });
  return { topic };
}
`,
  },
  python: {
    path: "scripts/main.py",
    runtime: "",
    text: `"""Reads one line of JSON, then writes messages as lines of JSON: events, and at last a result."""

import json
import sys


def say(**message):
    print(json.dumps(message), flush=True)


arguments = json.loads(sys.stdin.readline())["input"]
say(type="event", kind="progress", data={"message": "working"})
say(type="result", data={"topic": arguments["topic"]})
`,
  },
  node: {
    path: "scripts/main.mjs",
    runtime: "runtime: node\n",
    text: `// Reads one line of JSON, then writes messages as lines of JSON: events, and at last a result.
import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(\`\${JSON.stringify(message)}\\n\`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const { input } = JSON.parse((await lines.next()).value);
say({ type: "event", kind: "progress", data: { message: "working" } });
say({ type: "result", data: { topic: input.topic } });
`,
  },
};

function toJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
