// The built-in tools by name.
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import type { BuiltinEnvironment } from "./environment.ts";
import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { httpGetTool } from "./http-get.ts";
import { jsEvalTool } from "./js-eval.ts";
import { listDirTool } from "./list-dir.ts";
import { readFileTool } from "./read-file.ts";
import { writeFileTool } from "./write-file.ts";

export const builtinTools = {
  read_file: readFileTool,
  write_file: writeFileTool,
  list_dir: listDirTool,
  glob: globTool,
  grep: grepTool,
  http_get: httpGetTool,
  js_eval: jsEvalTool,
} as const satisfies Record<string, (environment: BuiltinEnvironment) => CatalogueTool>;

export type BuiltinName = keyof typeof builtinTools;

export const builtinNames = Object.keys(builtinTools) as BuiltinName[];
