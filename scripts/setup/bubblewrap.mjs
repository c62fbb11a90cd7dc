// Untrusted programs are tested in bubblewrap, which npm does not install.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installWithApt } from "./apt.mjs";

/** The path of bubblewrap, installed with apt-get if possible; undefined if it is not available. */
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
