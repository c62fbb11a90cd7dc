// Programs of strangers are tested where they run: in bubblewrap, which npm does not bring.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installWithApt } from "./apt.mjs";

/** The path of bubblewrap, installed with apt-get where that is possible; undefined where there is none. */
export async function ensureBubblewrap() {
  if (process.platform !== "linux") return undefined;
  const found = findBubblewrap();
  if (found !== undefined) return found;
  await installWithApt("bubblewrap");
  return findBubblewrap();
}

function findBubblewrap() {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/bin"];
  return folders.map((folder) => join(folder, "bwrap")).find((path) => existsSync(path));
}
