// The host side of the chains capability.
import { type Plugin, plugin } from "../../plugin/plugin.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { addAncestor, ancestorsOf } from "./ancestors.ts";
import { createExpressionParser } from "./expressions/expression.ts";
import { chainLimits } from "./limits.ts";
import { findProblems } from "./names.ts";
import { type ChainsOptions, type ParsedChainsOptions, parseChainsOptions } from "./options.ts";
import { PlanCache } from "./plan/plan-cache.ts";
import { unknownOutput } from "./problems.ts";
import { chains } from "./protocol.ts";
import { type OutputStores, openOutputStores, toPage } from "./run/output-store.ts";
import { forgetAll } from "./run/state-journal.ts";
import { SessionRuns, type Shared } from "./session-runs.ts";

/** Creates the plugin for `type: chains` in a config. */
export function createPlugin(options: JsonObject): Plugin<typeof chains> {
  return createChainsPlugin(parseChainsOptions(options));
}

export function chainsPlugin(options: ChainsOptions = {}): Plugin<typeof chains> {
  return createChainsPlugin(parseChainsOptions(options));
}

function createChainsPlugin(options: ParsedChainsOptions): Plugin<typeof chains> {
  let opened: { shared: Shared; stores: OutputStores } | undefined;
  return plugin(chains, {
    exclusive: options.exclusive,
    ...(options.priority === undefined ? {} : { priority: options.priority }),
    forking: "copied",

    setup({ database, clock, log }) {
      const { kept_days: keptDays, max_kept_bytes: maxKeptBytes, max_nodes: maxNodes } = options;
      const plans = new PlanCache({ parse: createExpressionParser(), maxNodes }, chainLimits.maxPlans);
      const stores = openOutputStores(database, { maxKeptBytes, keptDays, log, now: () => clock.now() });
      opened = { shared: { options, plans, database }, stores };
    },

    session(context) {
      if (opened === undefined) throw new Error("the chains plugin was not set up");
      const { shared, stores } = opened;
      const outputs = stores.of(context.session.id, (runId) => runs.isUnderWay(runId));
      const runs = new SessionRuns(context, shared, outputs);
      const findOutput = (runId: string, nodeId: string) => {
        const own = outputs.get(runId, nodeId);
        if (own !== undefined) return own;
        for (const ancestor of ancestorsOf(context.state)) {
          const inherited = stores.of(ancestor, () => true).get(runId, nodeId);
          if (inherited !== undefined) return inherited;
        }
        return undefined;
      };
      return {
        handlers: {
          run: (request, call) => runs.run(request, call),
          async validate({ nodes, entry_node, initial_input }, call) {
            const compiled = shared.plans.compile(nodes, entry_node);
            const { plan, names } = compiled;
            const problems = await findProblems(compiled, initial_input, context, call.call);
            return {
              valid: problems.length === 0,
              problems: [...problems],
              inputs: [...names.inputs.keys()],
              levels: plan?.levels.map((level) => level.map((index) => plan.nodes[index]?.id ?? "")) ?? [],
            };
          },
          list: () => ({ runs: runs.list() }),
          cancel: ({ run_id }) => ({ cancelled: runs.cancel(run_id) }),
          output({ run_id, node_id, offset, limit }) {
            const text = findOutput(run_id, node_id);
            if (text === undefined) throw unknownOutput(run_id, node_id);
            const page = toPage(text, offset, limit);
            return { run_id, node_id, text: page.text, offset, next_offset: page.next, total: text.length };
          },
        },
        fork(forked) {
          forgetAll(forked);
          addAncestor(forked, context.session.id);
        },
        opened: () => runs.resume(),
        leave: (signal) => runs.leave(signal),
        close: () => runs.close(),
      };
    },
  });
}
