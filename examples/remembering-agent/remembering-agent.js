// @ts-check
// Remembers across runs: run it twice against one host, and the second time it knows what it learned the first time.
import { connect } from "a2e";

// The id is whose memory it is: another agent would find its own.
const client = await connect(process.env.A2E_URL ?? "http://127.0.0.1:8765", { agentId: "remembering-agent" });
const { memory } = client;
await memory.init({ namespace: "cafe" });

// Episodic: what this agent lived through, newest first.
const { entries: visits, total } = await memory.retrieve({ tier: "episodic", tags: ["visit"], limit: 1 });
console.log(`visit ${total + 1}; the last one: ${visits[0]?.content ?? "none"}`);

// Semantic: what everybody in this namespace knows, found by its words.
const { entries: known } = await memory.retrieve({ tier: "semantic", query: "Ada drinks", min_score: 0.5 });
if (known.length === 0) {
  console.log("I do not know what Ada drinks; she says: tea");
  await memory.store({
    entries: [
      { key: "ada", content: "Ada drinks tea with milk", tier: "semantic", tags: ["guests"] },
      { key: "bob", content: "Bob is allergic to nuts", tier: "semantic", tags: ["guests"] },
    ],
  });
} else {
  console.log(`I remember: ${known[0]?.content} (score ${known[0]?.score.toFixed(2)})`);
}

// Compare-and-set: two agents that count at once lose no cup.
for (let isCounted = false; !isCounted; ) {
  const [cups] = (await memory.retrieve({ tier: "semantic", keys: ["cups served"] })).entries;
  const entry = { key: "cups served", content: Number(cups?.content ?? 0) + 1, if_version: cups?.version ?? 0 };
  isCounted = await memory.store({ entries: [{ ...entry, tier: "semantic" }] }).then(
    () => true,
    (error) => {
      if (error.code !== "version_conflict") throw error;
      return false;
    },
  );
  if (isCounted) console.log(`cups served: ${entry.content}`);
}

const visit = { key: { visit: total + 1 }, content: `visit number ${total + 1}`, tags: ["visit"] };
await memory.store({ entries: [{ ...visit, tier: "episodic" }] });
await client.disconnect();
