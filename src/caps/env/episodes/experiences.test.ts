import { expect, test } from "vitest";
import { LayeredState } from "../../../machinery/state/layered-state.ts";
import { envLimits } from "../limits.ts";
import type { Experience } from "../protocol.ts";
import { reload, startEnv } from "../test-session.suite.ts";
import { Experiences } from "./experiences.ts";

function experienceOf(step_num: number, text = ""): Experience {
  const flags = { done: false, truncated: false };
  const about = { episode_id: "e", env_name: "counter_env", step_num, created_at: 1 };
  return { ...about, state: { text }, action: 0, reward: 1, next_state: { text }, ...flags };
}

test("every reward that an agent reports is stored, up to the limit", async () => {
  await using host = await startEnv({ record_experiences: true });
  const session = await host.open();
  session.handle("reset", { env_name: "counter_env" });
  for (let step = 0; step < 300; step++) {
    session.handle("step", { action: step % 2 === 0 ? "inc" : "dec" });
    session.handle("reward", { reward: step });
  }

  const { episodes = [] } = session.handle("listExperiences", { limit: 300 });

  expect(episodes.map(({ feedback }) => feedback?.[0])).toEqual(Array.from({ length: 300 }, (_, step) => step));

  const few = new Experiences(new LayeredState(), 10);
  few.add(experienceOf(1));
  for (let count = 0; count <= envLimits.maxFeedback; count++) few.addFeedback("e", 1, count);
  expect(few.list("e", 1).experiences[0]?.feedback?.[0]).toBe(1);
});

test("a reward applies to the step of the current round, not to that of a round before an autoreset", async () => {
  await using host = await startEnv({ record_experiences: true });
  const session = await host.open();
  const { episode_id } = session.handle("reset", { env_name: "counter_env" }).obs;
  const ten = { type: "inc", amount: 10 };
  session.handle("batchStep", { episode_id, actions: [ten, "inc"], autoreset: "same_step" });

  session.handle("reward", { episode_id, reward: 0.5 });

  const { episodes = [] } = session.handle("listExperiences", {});
  expect(episodes.map(({ step_num, feedback }) => [step_num, feedback])).toEqual([
    [1, undefined],
    [1, [0.5]],
  ]);
});

test("a reward for the last step of a round is stored even if the next round has started", async () => {
  await using host = await startEnv({ record_experiences: true, autoreset: "same_step" });
  const session = await host.open();
  session.handle("reset", { env_name: "counter_env" });
  session.handle("step", { action: "inc" });
  const { metadata } = session.handle("step", { action: { type: "inc", amount: 9 } }).obs;

  expect(session.handle("reward", { reward: 0.5 }).step_num).toBe(metadata?.final_step_num);
  session.handle("reward", { reward: 0.25, step_num: Number(metadata?.final_step_num) });

  const { episodes = [] } = session.handle("listExperiences", {});
  expect(episodes.map(({ feedback }) => feedback)).toEqual([undefined, [0.5, 0.25]]);
});

test("a reward for a step that was not taken is rejected", async () => {
  await using host = await startEnv();
  const session = await host.open();
  session.handle("reset", { env_name: "counter_env" });

  await expect(session.call("reward", { step_num: 1, reward: 1 })).rejects.toMatchObject({
    code: "schema_violation",
    message: expect.stringContaining("has taken 0 steps"),
  });
});

test("an answer has as many experiences as fit, and an export continues at its cursor", () => {
  const experiences = new Experiences(new LayeredState(), 100);
  const text = "ä".repeat(envLimits.maxAnswerBytes / 32);
  for (let step = 1; step <= 40; step++) experiences.add(experienceOf(step, text));

  const { experiences: listed, total } = experiences.list("", 100);
  expect(total).toBe(40);
  expect(listed.length).toBeLessThan(10);
  expect(listed.at(-1)?.step_num).toBe(40);

  const steps: number[] = [];
  for (let cursor: number | null = 0; cursor !== null; ) {
    const page = experiences.page("", cursor, 1000);
    expect(Buffer.byteLength(page.lines.join(""))).toBeLessThanOrEqual(envLimits.maxAnswerBytes);
    for (const line of page.lines) steps.push((JSON.parse(line) as Experience).step_num);
    cursor = page.next;
  }
  expect(steps).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
});

test("a single experience that is larger than an answer is still sent", () => {
  const experiences = new Experiences(new LayeredState(), 100);
  experiences.add(experienceOf(1, "x".repeat(envLimits.maxAnswerBytes)));

  expect(experiences.list("", 10).experiences).toHaveLength(1);
  expect(experiences.page("", 0, 10).lines).toHaveLength(1);
});

test("a merge adds the experiences and episodes of a fork once, even if the parent has changed meanwhile", async () => {
  await using host = await startEnv({ record_experiences: true });
  const parent = await host.open();
  const { episode_id } = parent.handle("reset", { env_name: "counter_env" }).obs;
  const inc = (session: typeof parent, times: number, id = episode_id) => {
    for (let step = 0; step < times; step++)
      session.handle("step", { episode_id: id, action: step % 2 === 0 ? "inc" : "dec" });
  };
  inc(parent, 20);
  const state = parent.state.fork();
  parent.part.fork?.(state);
  const fork = await host.open({ state });
  const own = fork.handle("reset", { env_name: "counter_env" }).obs.episode_id;
  inc(fork, 50, own);
  fork.handle("reward", { episode_id: own, step_num: 50, reward: 7 });
  fork.handle("reward", { episode_id, step_num: 20, reward: 8 });
  inc(parent, 30);

  // Like the host: first the state key by key, then the part.
  const merge = () => {
    parent.state.set(`episode/${own}`, fork.state.get(`episode/${own}`) ?? null);
    return parent.part.merge?.(fork.state);
  };
  expect(merge()).toEqual({ merged: 50, conflicts: [] });
  expect(merge()).toEqual({ merged: 0, conflicts: [] });

  for (const session of [parent, await host.open({ state: reload(parent.state) })]) {
    const { episodes = [], total } = session.handle("listExperiences", { limit: 100 });
    expect(total).toBe(100);
    expect(episodes.map((one) => one.episode_id)).toEqual([...Array(50).fill(episode_id), ...Array(50).fill(own)]);
    expect([episodes[19]?.feedback, episodes[99]?.feedback]).toEqual([[8], [7]]);
    inc(session, 40);
    expect(session.handle("listExperiences", { limit: 200 }).episodes).toHaveLength(140);
    session.handle("close", { episode_id: own });
    await expect(session.call("observe", { episode_id: own })).rejects.toThrow("No active episode");
  }
});
