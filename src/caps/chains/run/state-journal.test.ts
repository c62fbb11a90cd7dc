import { expect, test } from "vitest";
import { LayeredState } from "../../../machinery/state/layered-state.ts";
import { findUnfinished, forgetAll, forgetRuns, keepAnswer, keptAnswers, takeAnswer } from "./state-journal.ts";

test("a limited number of answers is kept, and each is taken once", () => {
  const state = new LayeredState();

  for (const id of ["a", "b", "c"]) keepAnswer(state, id, { id }, 2);

  expect([...keptAnswers(state)].map(([id]) => id)).toEqual(["b", "c"]);
  expect([takeAnswer(state, "b"), takeAnswer(state, "b")]).toEqual([{ id: "b" }, undefined]);
});

test("runs are found with their steps, for any ids, and steps without a run are ignored", () => {
  const state = new LayeredState();
  state.set("local:run:a:b", { chain_id: "x" });
  state.set("local:step:0:a:b", { output: 1 });
  state.set("local:step:1.2:a:b", { output: 2 });
  state.set("local:step:0:gone", { output: 3 });

  const [run, ...others] = findUnfinished(state);

  expect(others).toEqual([]);
  expect(run).toMatchObject({ runId: "a:b", header: { chain_id: "x" } });
  expect([...(run?.steps ?? [])]).toEqual([
    ["0", { output: 1 }],
    ["1.2", { output: 2 }],
  ]);
});

test("a restored session keeps pending answers, and a fork keeps nothing", () => {
  const fill = () => {
    const state = new LayeredState();
    state.set("local:run:a", {});
    state.set("local:step:0:a", { output: 1 });
    state.set("local:answer:b", {});
    return state;
  };
  const [back, fork] = [fill(), fill()];

  forgetRuns(back);
  forgetAll(fork);

  expect([...back.entries()]).toEqual([["local:answer:b", {}]]);
  expect([...fork.entries()]).toEqual([]);
});
