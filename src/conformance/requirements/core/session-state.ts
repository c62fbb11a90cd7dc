// The state of a session can be saved, restored, forked and merged, across its capabilities.
import { asArray, asObject, check, checkEqual, checkError, checkType } from "../../check.ts";
import type { Context } from "../../context.ts";
import { sharedHost } from "../../link.ts";
import { type Peer, uniqueKey } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";
import { observe, reset, step } from "../env/episodes.ts";
import { openMemory } from "../memory/opened-memory.ts";
import { createPlan, openPlan } from "../planning/opened-plan.ts";

const extension = { source: "extension: session/*", level: "extension" } as const;
const withEnv = { capability: "env", environments: ["counter_env"] } as const;
const inc = { type: "inc" };

async function snapshot(peer: Peer, label = ""): Promise<string> {
  const saved = checkType(await peer.request("session/snapshot/req", { label }), "session/snapshot/resp");
  return String(saved.snapshot_id);
}

async function restore(peer: Peer, snapshot_id: string): Promise<void> {
  checkType(await peer.request("session/restore/req", { snapshot_id }), "session/restore/resp");
}

interface Fork {
  readonly peer: Peer;
  readonly sessionId: string;
}

async function fork(peer: Peer, { join }: Context): Promise<Fork> {
  const sessionId = String(checkType(await peer.request("session/fork/req"), "session/fork/resp").session_id);
  return { peer: await join(sessionId), sessionId };
}

/** The merged state and the conflicts, by capability. */
async function merge(peer: Peer, session_id: string) {
  const answer = checkType(await peer.request("session/merge/req", { session_id }), "session/merge/resp");
  const capabilities = asObject(answer.capabilities, "capabilities");
  return {
    conflictsOf: (name: string) => asArray(asObject(capabilities[name], name).conflicts, `conflicts of ${name}`),
  };
}

export const sessionState: readonly Requirement[] = [
  {
    ...extension,
    id: "SESS-10",
    title: "a restore brings episodes back as they were, with steps, state and chance",
    needs: { capability: "env", environments: ["counter_env", "FrozenLake-v1"] },
    async run({ connectAs }) {
      const peer = await connectAs("conformance");
      const counter = await reset(peer);
      await step(peer, counter, inc);
      const lake = await reset(peer, "FrozenLake-v1", { seed: 5 });
      const id = await snapshot(peer);
      const walk = async () => {
        const states: unknown[] = [];
        for (const value of [1, 2, 1]) states.push((await step(peer, lake, { value })).state);
        return states;
      };
      const first = await walk();
      await step(peer, counter, inc);
      await peer.request("env/close/req", { episode_id: counter.episode_id });
      const later = await reset(peer);
      await restore(peer, id);
      const back = await observe(peer, counter);
      checkEqual([back.step_num, back.state], [1, { count: 1 }], "the counter");
      checkEqual(await walk(), first, "the same walk again");
      checkError(await peer.request("env/observe/req", { episode_id: later.episode_id }), "runtime_error");
    },
  },
  {
    ...extension,
    id: "SESS-11",
    title: "a restore resets working memory: entries changed, added and forgotten since the snapshot",
    needs: { capability: "memory" },
    async run({ connectAs }) {
      const peer = await connectAs("conformance");
      const open = await openMemory(peer);
      const tier = "working";
      await open.store({ key: "changed", content: "old", tier }, { key: "forgotten", content: "here", tier });
      const id = await snapshot(peer);
      await open.store({ key: "changed", content: "new", tier }, { key: "added", content: "too much", tier });
      await open.forget({ tier, keys: ["forgotten"] });
      await restore(peer, id);
      checkEqual((await open.contents({ tier })).sort(), ["here", "old"], "contents");
      checkEqual(await open.contents({ tier, query: "new" }), [], "found by a later word");
    },
  },
  {
    ...extension,
    id: "SESS-12",
    title: "any snapshot can be restored, in any order, and the newest is restored by default",
    needs: withEnv,
    async run({ connectAs }) {
      const peer = await connectAs("conformance");
      const start = await reset(peer);
      const ids: string[] = [];
      for (const label of ["one", "two", "three"]) {
        await step(peer, start, inc);
        ids.push(await snapshot(peer, label));
      }
      for (const [at, id] of [...ids.entries()].reverse()) {
        await restore(peer, id);
        checkEqual((await observe(peer, start)).step_num, at + 1, `steps in snapshot ${at + 1}`);
      }
      await restore(peer, "");
      checkEqual((await observe(peer, start)).step_num, 3, "steps in the newest");
      const { snapshots } = await peer.request("session/snapshots/req");
      checkEqual(
        asArray(snapshots, "snapshots").map((entry) => asObject(entry, "snapshots[]").label),
        ["three", "two", "one"],
        "labels, newest first",
      );
    },
  },
  {
    ...extension,
    id: "SESS-13",
    title: "a snapshot reports for each capability whether it was saved",
    needs: withEnv,
    async run({ connectAs }) {
      const peer = await connectAs("conformance");
      await reset(peer);
      const saved = checkType(await peer.request("session/snapshot/req"), "session/snapshot/resp");
      checkEqual(asObject(saved.capabilities, "capabilities").env, "saved", "env");
      check(Number(saved.bytes) > 0, `bytes: ${saved.bytes}`);
      const restored = await peer.request("session/restore/req", { snapshot_id: saved.snapshot_id });
      checkEqual(asObject(restored.capabilities, "capabilities").env, "restored", "env after the restore");
    },
  },
  {
    ...extension,
    id: "SESS-14",
    title: "no session lists or restores a snapshot of another",
    source: "sessions are isolated",
    transports: sharedHost,
    needs: withEnv,
    async run({ connectAs }) {
      const [owner, other] = [await connectAs("conformance"), await connectAs("conformance")];
      await reset(owner);
      const snapshot_id = await snapshot(owner);
      checkError(await other.request("session/restore/req", { snapshot_id }), "runtime_error");
      checkEqual((await other.request("session/snapshots/req")).snapshots, [], "snapshots of the other");
    },
  },
  {
    ...extension,
    id: "SESS-15",
    title: "a fork is answered with a session id of its own and how each capability was copied",
    async run({ connectAs, survey }) {
      const peer = await connectAs("conformance");
      const answer = checkType(await peer.request("session/fork/req", { label: "try" }), "session/fork/resp");
      check(String(answer.session_id).length >= 22, `too short to be a secret: ${answer.session_id}`);
      check(answer.session_id !== peer.link.sessionId, "the fork should be another session");
      const capabilities = asObject(answer.capabilities, "capabilities");
      checkEqual(Object.keys(capabilities).sort(), [...survey.granted].sort(), "capabilities");
      for (const [name, mode] of Object.entries(capabilities))
        check(["copied", "overlaid", "shared", "refused"].includes(String(mode)), `${name}: ${mode}`);
    },
  },
  {
    ...extension,
    id: "SESS-16",
    title: "a fork is open at once, begins with the episodes of its session, and neither moves the other's",
    transports: sharedHost,
    needs: { capability: "env", environments: ["counter_env", "FrozenLake-v1"] },
    async run(context) {
      const parent = await context.connectAs("conformance");
      const counter = await reset(parent);
      await step(parent, counter, inc);
      const lake = await reset(parent, "FrozenLake-v1", { seed: 11 });
      const { peer: child } = await fork(parent, context);
      checkEqual((await observe(child, counter)).state, { count: 1 }, "state in the fork");
      await step(child, counter, { type: "inc", amount: 5 });
      await step(parent, counter, { type: "dec" });
      checkEqual((await observe(child, counter)).state, { count: 6 }, "state in the fork afterwards");
      checkEqual((await observe(parent, counter)).state, { count: 0 }, "state in the parent afterwards");
      for (const value of [1, 2, 1]) {
        const [one, other] = [await step(parent, lake, { value }), await step(child, lake, { value })];
        checkEqual(other.state, one.state, "the same action with the same chance");
      }
    },
  },
  {
    ...extension,
    id: "SESS-17",
    title: "memory that a fork writes, in any tier, is not visible to its parent or to other agents",
    transports: sharedHost,
    needs: { capability: "memory" },
    async run(context) {
      const parent = await context.connectAs("conformance");
      const namespace = uniqueKey(parent);
      const mine = await openMemory(parent, namespace);
      const tiers = ["working", "episodic", "semantic"];
      await mine.store(...tiers.map((tier) => ({ key: "a", content: "before", tier })));
      await mine.store(...tiers.map((tier) => ({ key: "b", content: "before", tier })));
      const { peer: child } = await fork(parent, context);
      const theirs = await openMemory(child, namespace);
      for (const tier of tiers) {
        await theirs.store({ key: "a", content: "of the fork", tier });
        await theirs.forget({ tier, keys: ["b"] });
        checkEqual(await theirs.contents({ tier }), ["of the fork"], `${tier} memory of the fork`);
        checkEqual(await mine.contents({ tier }), ["before", "before"], `${tier} memory of the parent`);
      }
      await mine.store({ key: "a", content: "of the parent", tier: "working" });
      checkEqual(await theirs.contents({ tier: "working" }), ["of the fork"], "working memory of the fork afterwards");
      const other = await openMemory(await context.connectAs("another agent"), namespace);
      checkEqual(await other.contents(), ["before", "before"], "what another agent sees");
    },
  },
  {
    ...extension,
    id: "SESS-18",
    title: "changes of a fork to plans stay in the fork",
    transports: sharedHost,
    needs: { capability: "planning" },
    async run(context) {
      const parent = await context.connectAs("conformance");
      const mine = await createPlan(parent);
      const task_id = await mine.add("a");
      const before = await mine.tasks();
      const { peer: child } = await fork(parent, context);
      const theirs = openPlan(child, mine.id);
      await theirs.update(task_id, { status: "done" });
      await theirs.add("b");
      checkEqual((await theirs.tasks()).length, 2, "tasks of the fork");
      checkEqual(await mine.tasks(), before, "tasks of the parent");
    },
  },
  {
    ...extension,
    id: "SESS-19",
    title: "a merge takes over the changes of the fork; state that both changed stays and is reported",
    transports: sharedHost,
    needs: { capability: "memory" },
    async run(context) {
      const parent = await context.connectAs("conformance");
      const mine = await openMemory(parent);
      for (const tier of ["episodic", "semantic"])
        await mine.store({ key: "a", content: "before", tier }, { key: "b", content: "before", tier });
      const { peer: child, sessionId } = await fork(parent, context);
      const change = (key: string, content: string) => ["episodic", "semantic"].map((tier) => ({ key, content, tier }));
      const entries = [...change("a", "of the fork"), ...change("b", "of the fork"), ...change("c", "of the fork")];
      checkType(await child.request("memory/store/req", { memory_id: mine.id, entries }), "memory/store/resp");
      await mine.store(...change("b", "of the parent"));
      const { conflictsOf } = await merge(parent, sessionId);
      check(conflictsOf("memory").length > 0, "what both changed should be reported");
      for (const tier of ["episodic", "semantic"]) {
        for (const [key, content] of [
          ["a", "of the fork"],
          ["b", "of the parent"],
          ["c", "of the fork"],
        ])
          checkEqual(await mine.contents({ tier, keys: [key] }), [content], `"${key}" in ${tier} after the merge`);
      }
    },
  },
  {
    ...extension,
    id: "SESS-20",
    title: "a merge brings the episodes and plans of the fork, and may be repeated for later changes",
    transports: sharedHost,
    needs: withEnv,
    async run(context) {
      const { survey } = context;
      const parent = await context.connectAs("conformance");
      const start = await reset(parent);
      const plan = survey.granted.includes("planning") ? await createPlan(parent) : undefined;
      const { peer: child, sessionId } = await fork(parent, context);
      for (const count of [1, 2]) {
        await step(child, start, inc);
        if (plan !== undefined) await openPlan(child, plan.id).add("of the fork");
        const { conflictsOf } = await merge(parent, sessionId);
        checkEqual(conflictsOf("env"), [], "conflicts");
        checkEqual((await observe(parent, start)).state, { count }, "state after the merge");
        if (plan !== undefined) checkEqual((await plan.tasks()).length, count, "tasks after the merge");
      }
    },
  },
  {
    ...extension,
    id: "SESS-21",
    title: "a fork of a fork has the state of its parent, and all three sessions are independent",
    transports: sharedHost,
    needs: withEnv,
    async run(context) {
      const parent = await context.connectAs("conformance");
      const start = await reset(parent);
      const { peer: child } = await fork(parent, context);
      await step(child, start, inc);
      const { peer: grandchild } = await fork(child, context);
      await step(grandchild, start, inc);
      await step(grandchild, start, inc);
      const counts = await Promise.all(
        [parent, child, grandchild].map(async (peer) => (await observe(peer, start)).step_num),
      );
      checkEqual(counts, [0, 1, 3], "steps");
    },
  },
  {
    ...extension,
    id: "SESS-22",
    title: "only a fork of this very session can be merged into it",
    async run({ connectAs, agent }) {
      const peer = await connectAs("conformance");
      const stranger = await agent();
      for (const session_id of ["no-such-session", "__proto__", stranger.link.sessionId ?? "none"])
        checkEqual(
          checkError(await peer.request("session/merge/req", { session_id }), "runtime_error").retryable,
          false,
          "retryable",
        );
    },
  },
  {
    ...extension,
    id: "SESS-23",
    title:
      "a recorded session is replayed with the same answers, and a session without a recording answers with an error",
    needs: withEnv,
    async run({ connectAs }) {
      const peer = await connectAs("conformance");
      await step(peer, await reset(peer), inc);
      const answer = await peer.request("session/replay/req");
      if (answer.type === "error") checkEqual(checkError(answer, "runtime_error").retryable, false, "retryable");
      else checkEqual([answer.type, answer.is_identical], ["session/replay/resp", true], "type and is_identical");
    },
  },
];
