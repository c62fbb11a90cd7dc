// Completion requests of a running script, sent as questions to the agent that called the skill.
import { setMaxListeners } from "node:events";
import type { CallContext } from "../../../plugin/call-context.ts";
import type { SessionContext } from "../../../plugin/plugin.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { Skill } from "../library/skill.ts";
import { skill as table } from "../protocol.ts";
import type { LlmAnswer } from "./script-host.ts";
import type { LlmRequest } from "./script-messages.ts";

export interface LlmAsks {
  ask(request: LlmRequest): Promise<LlmAnswer>;
  /** The script has ended: pending requests are cancelled. */
  end(): void;
}

/** Requests name the call, so that the agent can choose its model and keys, which are never sent to the host. */
export function createLlmAsks(
  session: Pick<SessionContext, "ask">,
  call: CallContext,
  { name, version }: Skill,
  { correlationId, maxCalls }: { correlationId: string; maxCalls: number },
): LlmAsks {
  let asked = 0;
  const over = new AbortController();
  const signal = AbortSignal.any([call.signal, over.signal]);
  // Each request listens to the signal, and a script may send many at once.
  setMaxListeners(0, signal);
  return {
    ask(request) {
      asked += 1;
      if (asked > maxCalls)
        return Promise.reject(new A2EError("rate_limited", `a call may request at most ${maxCalls} completions`));
      const about = { skill_name: name, skill_version: version, call_id: call.id, correlation_id: correlationId };
      return session.ask(table.asks.llm, { ...request, ...about }, { signal });
    },
    end: () => over.abort(),
  };
}
