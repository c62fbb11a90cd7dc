// Skills by which a host can be asked about skills. A host whose roots have these folders is asked more.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const script = `export default async function main({ mode, value }) {
  if (mode === "fail") throw new Error("as it was told to");
  if (mode === "wrong") return { echo: 7, more: "than it promised" };
  if (mode === "loop") for (;;);
  if (mode === "llm") {
    try {
      return { echo: (await llm({ messages: [{ role: "user", content: value }], max_tokens: 5 })).content };
    } catch (error) {
      return { echo: "no completion" };
    }
  }
  for (const done of [1, 2, 3]) await emit({ kind: "progress", data: { done } });
  return { echo: value };
}
`;

/** Files by path within a root. */
const referenceSkills: Readonly<Record<string, string>> = {
  "conformance-instructions/SKILL.md": `---
name: conformance-instructions
description: Instructions with two arguments and a file.
version: 1.2.0
tags: [conformance, writing]
category: conformance
triggers: [conformance]
when_to_use: When a host is scored.
inputs:
  type: object
  properties:
    topic: { type: string, minLength: 1 }
    style: { type: string, default: plain }
  required: [topic]
  additionalProperties: false
---
Write about {topic} in {style} words. Leave {braces} alone. See references/more.md.
`,
  "conformance-instructions/references/more.md": "More about it: ä €\n",
  "conformance-script/SKILL.md": `---
name: conformance-script
description: A script that does what its argument says.
version: 1.0.0
tags: [conformance, script]
category: scripts
script: scripts/main.js
llm: true
inputs:
  type: object
  properties:
    mode: { type: string, enum: [echo, fail, wrong, loop, llm], default: echo }
    value: { type: string, default: "" }
outputs:
  type: object
  properties: { echo: { type: string } }
  required: [echo]
---
Runs scripts/main.js.
`,
  "conformance-script/scripts/main.js": script,
  "conformance-versions/1.9.0/SKILL.md": `---
name: conformance-versions
description: An older version.
version: 1.9.0
---
The older one.
`,
  "conformance-versions/1.10.0/SKILL.md": `---
name: conformance-versions
description: A newer version.
version: 1.10.0
---
The newer one.
`,
  "conformance-archived/skill.md": `---
name: conformance-archived
description: Kept for those who know it.
status: Archived
---
Still here.
`,
  "conformance-blocked/SKILL.md": `---
name: conformance-blocked
description: Not to be used.
status: Blocked
---
Not for you.
`,
};

/** Puts them into a root of the host under test. */
export async function writeReferenceSkills(root: string): Promise<void> {
  for (const [path, text] of Object.entries(referenceSkills)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}
