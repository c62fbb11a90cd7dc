// Effects outside of a session, and messages from outside: a replay takes both from the recording.
import { expect, test } from "vitest";
import * as z from "zod";
import { probe, type RawPeer, type Run } from "../host/session/raw-session.suite.ts";
import { type Plugin, plugin, type SessionContext } from "../plugin/plugin.ts";
import type { Message } from "../protocol/envelope.ts";
import { ask, call, capability } from "../protocol/table/capability.ts";
import { identical, readFixture, record, replay } from "./replayed-session.suite.ts";

/** A plugin whose handler is made for each session. */
function probing(create: (context: SessionContext) => Run): Plugin {
  return plugin(probe, {
    session(context) {
      const run = create(context);
      return { handlers: { run, other: run } };
    },
  });
}

test("an effect is not run again: its result or failure comes from the recording, synchronously or later", async () => {
  let reached = 0;
  const reaching = () =>
    probing(({ outside }) => async ({ name }) => {
      const look = () => {
        reached += 1;
        if (name === "fails") throw new Error("unplugged");
        return { chance: Math.random() };
      };
      try {
        return { value: JSON.stringify([outside(look), await outside(async () => look())]) };
      } catch (error) {
        return { value: (error as Error).message };
      }
    });
  const recorded = await record([reaching()], async (peer) => {
    await Promise.all(["1", "2", "3"].map((id) => peer.ask(id, "looks")));
    expect(await peer.ask("4", "fails")).toMatchObject({ value: "unplugged" });
  });
  const before = reached;
  expect(await replay(recorded, [reaching()])).toEqual(identical);
  expect(reached).toBe(before);
});

test("an effect within another effect is not replayed, nor is anything that it caused", async () => {
  let reached = 0;
  const reaching = () =>
    probing(({ outside, fromOutside }) => async () => {
      const look = async () => {
        reached += 1;
        const receive = fromOutside(() => {});
        await new Promise(setImmediate);
        receive("a message");
        return Math.random();
      };
      return { value: JSON.stringify(await outside(async () => [await outside(look), await look()])) };
    });
  const recorded = await record([reaching()], async (peer) => {
    await Promise.all(["1", "2//", "/3/4"].map((id) => peer.ask(id, "looks")));
  });
  const before = reached;
  expect(await replay(recorded, [reaching()])).toEqual(identical);
  expect(reached).toBe(before);
});

test("a message that arrived from outside is delivered at the same point, and no other message is", async () => {
  const receiving = () =>
    probing(({ fromOutside }) => {
      const heard: number[] = [];
      const receive = fromOutside((number: number) => void heard.push(number));
      return async ({ name }) => {
        if (name === "tell") setImmediate(() => receive(Math.random()));
        if (name === "wait") while (heard.length === 0) await new Promise(setImmediate);
        return { value: JSON.stringify(heard) };
      };
    });
  const recorded = await record([receiving()], async (peer) => {
    expect(await peer.ask("1", "listen")).toMatchObject({ value: "[]" });
    await peer.ask("2", "tell");
    expect(await peer.ask("3", "wait")).toMatchObject({ value: expect.stringMatching(/^\[0\.\d+\]$/) });
  });
  expect(await replay(recorded, [receiving()])).toEqual(identical);
});

test("an id that looks like the number of an effect is a call of its own", async () => {
  const drawing = () =>
    probing(({ outside, random }) => async ({ name }) => {
      if (name === "inside") return { value: String(random()) };
      return { value: String(await outside(async () => random() + random())) };
    });
  const recorded = await record([drawing()], async (peer) => {
    await peer.ask("1", "outside");
    for (const id of ["1/1", "1//1", "/", "1/1/1"]) await peer.ask(id, "inside");
    await Promise.all(["2", "2/1"].map((id) => peer.ask(id, "outside")));
  });
  expect(await replay(recorded, [drawing()])).toEqual(identical);
});

const question = ask("quiz/question/req", "quiz/question/resp", {
  doc: "Asks.",
  request: z.object({ text: z.string() }),
  result: z.object({ answer: z.string() }),
  example: { request: { text: "?" }, result: { answer: "!" } },
});
const told = z.object({ text: z.string() });
const quiz = capability("quiz", {
  doc: "Asks from out there.",
  calls: {
    start: call("quiz/start/req", "quiz/start/resp", {
      about: { access: "write" },
      doc: "Asks twice.",
      request: z.object({ calls_back: z.boolean().default(false) }),
      result: z.object({ answers: z.array(z.string()) }),
      example: { request: {}, result: { answers: [] } },
    }),
  },
  asks: { question },
  pushes: { told: { type: "quiz/told", doc: "Tells.", aliases: [], payload: told, example: { text: "!" } } },
});

/** Asks and sends in the middle of an effect that a replay does not run, as a skill that needs a model does. */
function asking(onRun: () => void = () => {}): Plugin {
  return plugin(quiz, {
    session: ({ ask, push, outside }) => ({
      handlers: {
        start: ({ calls_back }, context) =>
          outside(async (recorded) => {
            onRun();
            if (calls_back) await recorded.call("ping", {});
            const answers: string[] = [];
            for (const text of ["answered", "silence"]) {
              push(quiz.pushes.told, { text: `about to ask ${Math.random()}` });
              const answer = ask(question, { text }, { timeoutMs: 30, signal: context.signal });
              answers.push(
                await answer.then(
                  (result) => result.answer,
                  (error: Error) => error.message,
                ),
              );
            }
            return { answers };
          }, context),
      },
    }),
  });
}

/** Starts the quiz; the id of a question once it was asked. */
function startQuiz(peer: RawPeer, calls_back: boolean): (text: string) => Promise<string | undefined> {
  peer.send({ type: "quiz/start/req", id: "1", version: "1.0", calls_back });
  return async (text) => {
    const isIt = (message: Message) => message.type === question.type && message.text === text;
    await peer.until(() => peer.received.some(isIt));
    return peer.received.find(isIt)?.id;
  };
}

async function answerQuestions(peer: RawPeer, calls_back: boolean): Promise<void> {
  const asked = startQuiz(peer, calls_back);
  peer.send({ type: "quiz/question/resp", id: "2", req_id: await asked("answered"), answer: "yes" });
  const late = await asked("silence");
  expect(await peer.answer("1")).toMatchObject({ answers: ["yes", expect.stringContaining("did not answer")] });
  peer.send({ type: "quiz/question/resp", id: "3", req_id: late, answer: "too late" });
  expect(await peer.answer("3")).toMatchObject({ code: "invalid_message" });
  await peer.settle();
}

test.each([
  ["that is not run again is not asked", false],
  ["that calls the session, and so is run again, is asked and gets the same answer", true],
])("an agent that was asked by an effect %s", async (_, callsBack) => {
  const recorded = await record([asking()], (peer) => answerQuestions(peer, callsBack));
  let runs = 0;
  const report = await replay(recorded, [
    asking(() => {
      runs += 1;
    }),
  ]);
  expect(report).toEqual(identical);
  expect(runs).toBe(callsBack ? 1 : 0);
});

test("a recording with questions that an earlier version wrote is replayed", async () => {
  const text = await readFixture("questions");
  expect(await replay({ text }, [asking()])).toEqual(identical);
});

test("a question that was withdrawn from out there is not answered in a replay either", async () => {
  const recorded = await record([asking()], async (peer) => {
    const asked = await startQuiz(peer, false)("answered");
    peer.send({ type: "invoke/cancel/req", id: "2", call_id: "1" });
    expect(await peer.answer("1")).toMatchObject({ code: "cancelled" });
    peer.send({ type: "quiz/question/resp", id: "3", req_id: asked, answer: "too late" });
    expect(await peer.answer("3")).toMatchObject({ code: "invalid_message" });
    await peer.settle();
  });
  expect(await replay(recorded, [asking()])).toEqual(identical);
});
