import { expect, test } from "vitest";
import { startEnv } from "../test-session.suite.ts";

test("an agent that always takes the first suggestion brings the gem to the garden", async () => {
  await using host = await startEnv();
  const session = await host.open();
  session.handle("reset", { env_name: "text_adventure" });
  const commands: unknown[] = [];
  let obs = session.handle("observe", {}).obs;
  while (obs.done !== true && commands.length < 30) {
    const [action] = session.handle("plan", {}).suggested_actions ?? [];
    commands.push(action?.value);
    obs = session.handle("step", { action: action ?? null }).obs;
  }
  expect(commands).toEqual([
    "go north",
    "take lamp",
    "go east",
    "take key",
    "go west",
    "unlock cellar",
    "go down",
    "take gem",
    "go up",
    "go south",
  ]);
  expect(obs).toMatchObject({ done: true, reward: 1, state: { place: "garden" } });
});

test("a command that is not possible is rejected with the possible ones, and spaces and capitals do not matter", async () => {
  await using host = await startEnv();
  const session = await host.open();
  session.handle("reset", { env_name: "text_adventure" });
  await expect(session.call("step", { action: "open sesame" })).rejects.toMatchObject({
    code: "unknown_action",
    detail: { allowed: ["go north", "look"] },
  });
  expect(session.handle("step", { action: "  GO   North " }).obs.state).toMatchObject({ place: "hall" });
  await expect(session.call("step", { action: "go down" })).rejects.toMatchObject({ code: "unknown_action" });
});

test("the cellar is dark without a lamp", async () => {
  await using host = await startEnv();
  const session = await host.open();
  session.handle("reset", { env_name: "text_adventure" });
  for (const action of ["go north", "go east", "take key", "go west", "unlock cellar", "go down"])
    session.handle("step", { action });
  expect(session.handle("observe", {}).obs.state.text).toContain("too dark");
  await expect(session.call("step", { action: "take gem" })).rejects.toMatchObject({ code: "unknown_action" });
});
