// The errors with which quotas refuse. `rate_limited` is not remembered, so the same request may be sent again.
import { A2EError } from "../protocol/errors.ts";
import type { Budget } from "./budgets.ts";

/** `limit` is the name of the limit in the config. */
export function overLimit(limit: string, message: string, retryAfterMs: number): A2EError {
  return new A2EError("rate_limited", message, { detail: { limit, retry_after_ms: retryAfterMs } });
}

/** `resetsAt` is in milliseconds since 1970; undefined for a budget that does not reset. */
export function budgetUsedUp({ unit, limit, token }: Budget, used: number, now: number, resetsAt?: number): A2EError {
  const whose = token === undefined ? "the budget" : "the budget of a token";
  const until = resetsAt === undefined ? "" : ` until ${new Date(resetsAt).toISOString()}`;
  const message = `${whose} of ${limit} ${unit} is used up${until}: ${used} were used`;
  return new A2EError("rate_limited", message, {
    detail: {
      budget: unit,
      used,
      limit,
      ...(token === undefined ? {} : { token }),
      ...(resetsAt === undefined ? {} : { resets_at: resetsAt / 1000, retry_after_ms: resetsAt - now }),
    },
    // Waiting does not help if the budget never resets.
    retryable: resetsAt !== undefined,
  });
}
