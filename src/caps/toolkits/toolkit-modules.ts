// Loads the toolkits from the modules that a config names.
import { findModules, loadItems, type ModuleContent } from "../../machinery/module-loading.ts";
import { isToolkit, type Toolkit } from "./define-toolkit.ts";

const toolkitModules: ModuleContent<Toolkit> = {
  noun: "toolkit",
  madeWith: "defineToolkit",
  listName: "toolkits",
  isItem: isToolkit,
};

export async function loadToolkits(names: readonly string[], baseDir: string): Promise<Toolkit[]> {
  const modules = await findModules(names, baseDir, toolkitModules);
  return (await Promise.all(modules.map((module) => loadItems(module, toolkitModules)))).flat();
}
