// Tools whose `run` takes no context cannot emit, and may be given that of another call.
import type { CatalogueTool } from "../tool-catalogue.ts";

/** On the function and not on the tool: a copy of the tool with a `run` of its own around this one has none of it. */
const mark = Symbol.for("a2e.context-free");

type Run = CatalogueTool["run"];

/** Marks a function that never looks at its second argument. */
export function withoutContext(run: Run): Run {
  return Object.assign(run, { [mark]: true });
}

export function usesContext({ run }: Pick<CatalogueTool, "run">): boolean {
  return (run as Run & { [mark]?: boolean })[mark] !== true;
}
