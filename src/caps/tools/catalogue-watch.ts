// Tells a session which tools came and went.
import type { CatalogueTool, ToolCatalogue } from "../../host/tool-catalogue.ts";

type Report = (change: { added: string[]; removed: string[] }) => void;

/**
 * Reports all changes of one turn of the event loop at once, until the returned function is called. What others offer is
 * told apart from the rest: a session is not the cause of it, and in a recording no line of its own.
 */
export function watchCatalogue(
  catalogue: ToolCatalogue,
  isShown: (name: string) => boolean,
  report: Report,
): () => void {
  const [inside, outside] = [false, true].map((isOutside) => {
    const isWatched = (tool: CatalogueTool) => (tool.isOutside === true) === isOutside && isShown(tool.name);
    return watch(catalogue, isWatched, report);
  }) as [Watch, Watch];
  const stop = catalogue.onChange((isOutside) => (isOutside ? outside : inside).changed());
  return () => {
    stop();
    inside.stop();
    outside.stop();
  };
}

interface Watch {
  changed(): void;
  stop(): void;
}

function watch(catalogue: ToolCatalogue, isWatched: (tool: CatalogueTool) => boolean, report: Report): Watch {
  // Tools, not names: the host's list is small and a session must be cheap.
  let known = catalogue.list();
  let scheduled: NodeJS.Immediate | undefined;
  const compare = () => {
    scheduled = undefined;
    const current = catalogue.list();
    const added = namesBeyond(known, current);
    const removed = namesBeyond(current, known);
    known = current;
    if (added.length > 0 || removed.length > 0) report({ added, removed });
  };
  /** Of those that the one list lacks and the other has. */
  const namesBeyond = (without: readonly CatalogueTool[], tools: readonly CatalogueTool[]) => {
    const absent = new Set(without);
    return tools.filter((tool) => !absent.has(tool) && isWatched(tool)).map(({ name }) => name);
  };
  return {
    changed() {
      scheduled ??= setImmediate(compare);
    },
    stop() {
      clearImmediate(scheduled);
      scheduled = undefined;
    },
  };
}
