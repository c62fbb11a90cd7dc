// @ts-check
// The table of a capability that is not part of the product. Checks, types and the API of the client are derived from it.
import { call, capability, push } from "a2e/protocol";
import { z } from "zod";

/** Sent once, when the counter reaches the threshold of its plugin. */
export const thresholdReached = push("counter/threshold", {
  doc: "The counter of this session has reached its threshold.",
  payload: z.object({ value: z.int(), threshold: z.int() }),
  example: { value: 10, threshold: 10 },
});

export const counter = capability("counter", {
  doc: "A number per session that agents add to.",
  errors: { counter_overflow: { retryable: false, doc: "The sum would no longer be a safe integer." } },
  calls: {
    add: call("counter/add/req", "counter/add/resp", {
      about: { access: "write" },
      doc: "Adds to the counter and returns its new value.",
      request: z.object({ amount: z.int().default(1) }),
      result: z.object({ value: z.int() }),
      example: { request: { amount: 2 }, result: { value: 2 } },
    }),
    get: call("counter/get/req", "counter/get/resp", {
      about: { access: "read" },
      doc: "Returns the value of the counter.",
      request: z.object({}),
      result: z.object({ value: z.int() }),
      example: { request: {}, result: { value: 2 } },
    }),
  },
  pushes: { thresholdReached },
});
