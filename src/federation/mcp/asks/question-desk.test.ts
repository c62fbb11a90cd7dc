import { expect, test } from "vitest";
import { mcp } from "../../../caps/mcp/protocol.ts";
import type { A2EClient } from "../../../client/client.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { ParkedCalls } from "./parked-calls.ts";
import { QuestionDesk } from "./question-desk.ts";

type Answer = (request: JsonObject, context: { signal: AbortSignal }) => Promise<JsonObject>;

/** A desk, and a function that asks questions. */
function openDesk() {
  const handlers = new Map<string, Answer>();
  const client = { onAsk: (ask: { type: string }, answer: Answer) => void handlers.set(ask.type, answer) };
  const desk = new QuestionDesk(client as unknown as A2EClient, [mcp]);
  const ask = (message: string, signal = new AbortController().signal) =>
    handlers.get(mcp.asks.elicit.type)?.({ message, requested_schema: {} }, { signal }) ?? Promise.reject();
  return { parked: new ParkedCalls((carrier) => desk.offer(carrier)), ask };
}

interface Running {
  done(value: string): void;
  run(requestState?: string, inputResponses?: Record<string, unknown>): Promise<unknown>;
  leave(): void;
}

/** A call that ends on demand, or when its client leaves. */
function startCall(parked: ParkedCalls): Running {
  const gone = new AbortController();
  let done: Running["done"] = () => {};
  const work = new Promise<string>((resolve) => {
    done = resolve;
  });
  return {
    done: (value) => done(value),
    leave: () => gone.abort(),
    run: (requestState, inputResponses) =>
      parked.run(
        { requestState, inputResponses, capabilities: { elicitation: { form: {} } }, signal: gone.signal },
        (signal) =>
          Promise.race([
            work,
            new Promise<never>((_resolve, reject) =>
              signal.addEventListener("abort", () => reject(signal.reason as Error)),
            ),
          ]),
      ),
  };
}

const accepted = { action: "accept", content: { ok: true } };
const asked = { resultType: "input_required", inputRequests: { "question-1": { method: "elicitation/create" } } };

test("a question that was sent with a call which then ended is sent with the call that it came from", async () => {
  const { parked, ask } = openDesk();
  const asking = startCall(parked);
  const other = startCall(parked);
  const [first, second] = [asking.run(), other.run()];

  const answer = ask("Really?");
  other.done("other");

  // Whichever answer the other call's client gets, its call ends.
  const told = (await second) as { requestState?: string };
  const result = told.requestState === undefined ? told : await other.run(told.requestState, {});
  expect(result).toBe("other");
  const paused = (await first) as { requestState: string };
  expect(paused).toMatchObject(asked);
  const going = asking.run(paused.requestState, { "question-1": accepted });
  expect(await answer).toMatchObject({ action: "accept" });
  asking.done("asked");
  expect(await going).toBe("asked");
});

test("a question that was sent with another call is sent again when the client of that call has left", async () => {
  const { parked, ask } = openDesk();
  const asking = startCall(parked);
  const other = startCall(parked);
  const first = asking.run();
  const second = other.run();
  const answer = ask("Really?");
  const told = (await second) as { requestState: string };
  other.leave();
  await expect(other.run(told.requestState)).rejects.toThrow();

  const paused = (await first) as { requestState: string };
  void asking.run(paused.requestState, { "question-1": accepted });

  expect(await answer).toMatchObject({ action: "accept" });
  asking.done("asked");
});

test("a question of a call that has ended is not sent with a later call", async () => {
  const { parked, ask } = openDesk();
  const asking = startCall(parked);
  const first = asking.run();
  const answer = ask("Really?");
  const later = startCall(parked);
  const second = later.run();
  const paused = (await first) as { requestState: string };
  asking.done("gave up");

  await expect(answer).rejects.toMatchObject({ code: "cancelled" });
  expect(await asking.run(paused.requestState)).toBe("gave up");
  later.done("later");
  expect(await second).toBe("later");
});

test("a question whose asker no longer waits leaves nothing behind", async () => {
  const { parked, ask } = openDesk();
  const asking = startCall(parked);
  const first = asking.run();
  const waiting = new AbortController();
  const answer = ask("Really?", waiting.signal);
  const paused = (await first) as { requestState: string };

  waiting.abort();

  await expect(answer).rejects.toMatchObject({ code: "cancelled" });
  const going = asking.run(paused.requestState);
  asking.done("went on");
  expect(await going).toBe("went on");
});

test("a call whose client left before it started is cancelled", async () => {
  const { parked } = openDesk();
  const call = startCall(parked);
  call.leave();
  await expect(call.run()).rejects.toMatchObject({ code: "cancelled" });
});
