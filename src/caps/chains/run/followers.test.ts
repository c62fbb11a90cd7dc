import { expect, test } from "vitest";
import type { CallContext } from "../../../plugin/call-context.ts";
import { chainLimits } from "../limits.ts";
import { Followers } from "./followers.ts";

function createCall() {
  const told: unknown[] = [];
  return {
    told,
    call: { isEnded: false, emit: (_: string, data: object) => told.push(data) } as unknown as CallContext,
  };
}

test("events without a follower are sent to the first follower, up to the newest maxMissedEvents", () => {
  const followers = new Followers();
  const [first, second] = [createCall(), createCall()];

  for (let number = 0; number < chainLimits.maxMissedEvents + 5; number++) followers.tell({ number });
  followers.add(first.call);
  followers.add(second.call);
  followers.tell({ number: -1 });

  expect(first.told).toHaveLength(chainLimits.maxMissedEvents + 1);
  expect(first.told[0]).toEqual({ number: 5 });
  expect(second.told).toEqual([{ number: -1 }]);
});

test("a run is awaited as long as one of its requests is", () => {
  const [one, other] = [createCall(), createCall()];
  const followers = new Followers(one.call, other.call);
  expect(followers.isAwaited).toBe(true);

  for (const { call } of [one, other]) (call as { isEnded: boolean }).isEnded = true;

  expect(followers.isAwaited).toBe(false);
});
