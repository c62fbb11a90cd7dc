// Loads the environments from the modules that a config names.
import { loadItems, type ModuleContent, type ModuleReference } from "../../machinery/module-loading.ts";
import { type Environment, isEnvironment } from "./define-env.ts";

export const environmentModules: ModuleContent<Environment> = {
  noun: "environment",
  madeWith: "defineEnv",
  listName: "envs",
  isItem: isEnvironment,
};

export function loadEnvironments(module: ModuleReference): Promise<Environment[]> {
  return loadItems(module, environmentModules);
}
