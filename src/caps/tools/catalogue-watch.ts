// Reports to a session which tools were added and removed.
import type { ToolCatalogue } from "../../plugin/tool-catalogue.ts";

/** Reports all changes of one turn of the event loop together, until the returned function is called. */
export function watchCatalogue(
  catalogue: ToolCatalogue,
  isShown: (name: string) => boolean,
  report: (change: { added: string[]; removed: string[] }) => void,
): () => void {
  // The tools themselves and no copy of their names: the list of the host is shared, so a session costs little.
  let known = catalogue.list();
  let scheduled: NodeJS.Immediate | undefined;
  const compare = () => {
    scheduled = undefined;
    const current = catalogue.list();
    const before = new Set(known);
    const after = new Set(current);
    const added = current.filter((tool) => !before.has(tool) && isShown(tool.name)).map(({ name }) => name);
    const removed = known.filter((tool) => !after.has(tool) && isShown(tool.name)).map(({ name }) => name);
    known = current;
    if (added.length > 0 || removed.length > 0) report({ added, removed });
  };
  const stop = catalogue.onChange(() => {
    scheduled ??= setImmediate(compare);
  });
  return () => {
    stop();
    clearImmediate(scheduled);
    scheduled = undefined;
  };
}
