// @ts-check
// Tree search by forks: every node is a session of its own, copied from its parent's. From each the agent tries all
// moves, keeps the best few and lets the others go. The first session stays where it was until the way is known.
import { A2EHost, connectEmbedded, createMemorySnapshotStore, keepSessions } from "a2e";
import { envPlugin } from "a2e/env";
import { core } from "a2e/protocol";

const size = 8;
const actions = [0, 1, 2, 3];
const names = ["left", "down", "right", "up"];
/** How many nodes are kept of each depth. */
const width = 6;

const host = await A2EHost.start({
  plugins: [envPlugin()],
  keeping: keepSessions,
  snapshots: createMemorySnapshotStore(),
});
const capabilities = ["env"];
const root = await connectEmbedded(host, { capabilities });
// The ice is slippery: a move goes astray two times out of three.
const { obs: start } = await root.env.reset({ env_name: "FrozenLake8x8-v1", seed: 7 });
const { episode_id } = start;

/** @typedef {{ client: typeof root, path: number[], square: number, reward: number, done: boolean }} Node */

let forks = 0;
/** @type {Node[]} */
let frontier = [{ client: root, path: [], square: 0, reward: 0, done: false }];
/** @type {Node | undefined} */
let goal;
while (goal === undefined && frontier.length > 0) {
  const children = (await Promise.all(frontier.map(expand))).flat();
  goal = children.find(({ reward }) => reward > 0);
  const kept = goal === undefined ? best(children) : [];
  await close([...frontier, ...children].filter((node) => !kept.includes(node)));
  frontier = kept;
}
if (goal === undefined) throw new Error("no way across the lake was found");

const { obs: untouched } = await root.env.observe({ episode_id });
console.log(`${forks} forks; the first session has taken ${untouched.step_num} steps`);

// A fork has the chance of its parent too: what happened there happens here.
let last = untouched;
for (const action of goal.path) last = (await root.env.step({ episode_id, action })).obs;
console.log(goal.path.map((action) => names[action]).join(" "));
console.log(`reward ${last.reward} after ${last.step_num} steps, ${host.sessions.list().length} session left`);

await root.disconnect();
await host.close();

/**
 * All moves from a node, each in a fork of its session.
 *
 * @param {Node} node
 */
async function expand({ client, path }) {
  return Promise.all(
    actions.map(async (action) => {
      const { session_id } = await client.use(core).fork({});
      forks += 1;
      const fork = await connectEmbedded(host, { sessionId: session_id, agentId: root.agentId, capabilities });
      const { obs } = await fork.env.step({ episode_id, action });
      const { reward, done } = obs;
      return { client: fork, path: [...path, action], square: Number(obs.state.value), reward: reward ?? 0, done };
    }),
  );
}

/**
 * Those nearest to the goal, which is the last square; one per square, none in the water.
 *
 * @param {Node[]} nodes
 */
function best(nodes) {
  const distance = (/** @type {Node} */ { square }) => 2 * (size - 1) - Math.floor(square / size) - (square % size);
  const afloat = nodes.filter(({ done }) => !done).sort((one, other) => distance(one) - distance(other));
  return afloat
    .filter(({ square }, index) => afloat.findIndex((node) => node.square === square) === index)
    .slice(0, width);
}

/** @param {Node[]} nodes */
async function close(nodes) {
  await Promise.all(nodes.map(({ client }) => (client === root ? undefined : client.disconnect())));
}
