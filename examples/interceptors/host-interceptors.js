// @ts-check
// Two interceptors of a host: one measures every call, one decides which agent may call which capability.
import { A2EError } from "a2e/host";

/**
 * Reports how long each call took and how it ended.
 *
 * @param {(type: string, outcome: string, ms: number) => void} report
 * @returns {import("a2e/host").Interceptor}
 */
export function measureCalls(report) {
  return (next) => async (call) => {
    const startedAt = performance.now();
    let outcome = "ok";
    try {
      return await next(call);
    } catch (error) {
      outcome = error instanceof A2EError ? error.code : "internal_error";
      throw error;
    } finally {
      report(call.type, outcome, performance.now() - startedAt);
    }
  };
}

/**
 * Lets an agent call only the capabilities listed for it. A call that is allowed is handed on as it is, so that a handler
 * that answers at once still does.
 *
 * @param {Record<string, string[]>} rights capabilities by the id of an agent
 * @returns {import("a2e/host").Interceptor}
 */
export function allowCapabilities(rights) {
  return (next) => (call) => {
    const allowed = rights[call.session.principal.agentId] ?? [];
    // The host's own calls, such as the handshake, and calls that a handler makes are not the agent's choice.
    if (call.capability === "core" || call.isNested || allowed.includes(call.capability)) return next(call);
    throw new A2EError("forbidden", `"${call.session.principal.agentId}" may not call ${call.capability}`);
  };
}
