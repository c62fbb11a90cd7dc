// @ts-check
// Learns to balance a pole: the cross-entropy method on a policy of four numbers. All candidates of a generation act at
// once, one batch per step. Run it with a file name for the reward curve: `node learn-cartpole.js curve.svg`.
import { writeFile } from "node:fs/promises";
import { A2EHost, connectEmbedded, createMemorySnapshotStore, keepSessions } from "a2e";
import { envPlugin, SeededRandom } from "a2e/env";
import { toSvg } from "./reward-curve.js";

const generations = 12;
const candidates = 24;
const elite = 6;
const random = new SeededRandom(7);

const host = await A2EHost.start({
  plugins: [envPlugin()],
  keeping: keepSessions,
  snapshots: createMemorySnapshotStore(),
});
const client = await connectEmbedded(host, { capabilities: ["env"] });
const { max_steps } = await client.env.space({ env_name: "CartPole-v1" });

let mean = [0, 0, 0, 0];
let deviation = [1, 1, 1, 1];
/** @type {number[]} */
const curve = [];

for (let generation = 0; generation < generations; generation++) {
  const policies = Array.from({ length: candidates }, () =>
    mean.map((value, index) => value + (deviation[index] ?? 0) * random.normal()),
  );
  const rewards = await play(policies, generation);
  const average = rewards.reduce((sum, reward) => sum + reward, 0) / candidates;
  curve.push(average);
  console.log(`generation ${generation + 1}: mean reward ${average.toFixed(1)}`);

  const best = policies
    .map((weights, index) => ({ weights, reward: rewards[index] ?? 0 }))
    .sort((one, other) => other.reward - one.reward)
    .slice(0, elite);
  mean = mean.map((_, at) => best.reduce((sum, { weights }) => sum + (weights[at] ?? 0), 0) / elite);
  deviation = mean.map((centre, at) =>
    Math.sqrt(best.reduce((sum, { weights }) => sum + ((weights[at] ?? 0) - centre) ** 2, 0) / elite + 0.01),
  );
}

const path = process.argv[2] ?? process.env.REWARD_CURVE;
if (path !== undefined) await writeFile(path, toSvg(curve, max_steps));
await client.disconnect();
await host.close();

/**
 * The reward of each policy in an episode of its own; all episodes of a generation begin alike.
 *
 * @param {readonly (readonly number[])[]} policies
 * @param {number} seed
 */
async function play(policies, seed) {
  const started = await Promise.all(policies.map(() => client.env.reset({ env_name: "CartPole-v1", seed })));
  const all = started.map(({ obs }, index) => ({ index, id: obs.episode_id, seen: toNumbers(obs.state) }));
  const rewards = policies.map(() => 0);
  for (let running = all; running.length > 0; ) {
    const { results } = await client.env.batchStep({
      episode_ids: running.map(({ id }) => id),
      actions: running.map(({ index, seen }) => act(policies[index] ?? [], seen)),
    });
    running = running.filter((episode, at) => {
      const obs = results[at]?.obs;
      if (obs === undefined) return false;
      episode.seen = toNumbers(obs.state);
      rewards[episode.index] = (rewards[episode.index] ?? 0) + (obs.reward ?? 0);
      return !obs.done && !obs.truncated;
    });
  }
  await Promise.all(all.map(({ id }) => client.env.close({ episode_id: id })));
  return rewards;
}

/** @param {{ [field: string]: unknown }} state */
function toNumbers({ value }) {
  return /** @type {number[]} */ (value);
}

/**
 * @param {readonly number[]} weights
 * @param {readonly number[]} seen
 */
function act(weights, seen) {
  return weights.reduce((sum, weight, index) => sum + weight * (seen[index] ?? 0), 0) > 0 ? 1 : 0;
}
