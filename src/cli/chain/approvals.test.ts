import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { AskHandler } from "../../client/ask-handlers.ts";
import type { A2EClient } from "../../client/client.ts";
import { answerApprovals } from "./approvals.ts";

function startTerminal() {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const notes: string[] = [];
  let handler: AskHandler | undefined;
  const client = {
    onAsk(_: unknown, added: unknown) {
      handler = added as AskHandler;
      return () => {};
    },
  } as Pick<A2EClient, "onAsk">;
  answerApprovals(client, false, { input, note: (text) => void notes.push(text) });
  const ended = new AbortController();
  const ask = (node_id: string) =>
    Promise.resolve(handler?.({ node_id, message: `${node_id}?`, data: {} }, { signal: ended.signal }));
  return { input, notes, ask, ended };
}

test("two approvals at once are asked one after the other, and a yes answers only one of them", async () => {
  const { input, notes, ask } = startTerminal();

  const [first, second] = [ask("first"), ask("second")];
  await expect.poll(() => notes.length).toBe(1);
  input.write("y\n");
  expect(await first).toEqual({ approved: true, comment: "" });
  await expect.poll(() => notes.length).toBe(2);
  input.write("no\n");

  expect(await second).toEqual({ approved: false, comment: "" });
  expect(notes.map((note) => note.split("\n")[0])).toEqual(["first: first?", "second: second?"]);
});

test("the end of the input or of the command approves nothing and leaves no question waiting", async () => {
  const closed = startTerminal();
  const unanswered = closed.ask("a");
  await expect.poll(() => closed.notes.length).toBe(1);
  closed.input.end();

  const stopped = startTerminal();
  const [under, next] = [stopped.ask("a"), stopped.ask("b")];
  await expect.poll(() => stopped.notes.length).toBe(1);
  stopped.ended.abort();

  for (const answer of [unanswered, under, next])
    expect(await answer).toEqual({ approved: false, comment: "no answer was given" });
  expect(stopped.notes).toHaveLength(1);
});
