// Decides which folders of the host a program sees, and which folders inside of those it must not see, for every
// sandbox that shows only some folders.
import { realpathSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { SandboxPolicy } from "../../plugin/ports/sandbox.ts";
import { isWithin } from "./visible-paths.ts";

/** Programs and libraries, which every sandbox has in some form. */
export const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Virtual file systems of the kernel: they bypass every limit, so nothing inside is shown either. */
const kernelFolders = ["/proc", "/sys", "/dev"];

/** Showing a folder that contains one of these would bypass the rest of the sandbox. */
const reservedFolders = [...systemFolders, ...kernelFolders, "/etc", "/tmp", "/run", "/boot", "/var"];

export interface HostFolder {
  /** The path in the sandbox. */
  path: string;
  /** The path on the host, without links. */
  source: string;
  /** `none`: an empty folder is shown in its place. */
  access: "read" | "write" | "none";
}

export interface HostFolderOptions {
  /** Folders of the host itself, which no program sees. */
  hidden: readonly string[];
  /** Whether programs see the host's own system too. */
  showsSystem: boolean;
}

/** Outer folders first, since a later one covers an earlier one. Throws if the policy asks for too much. */
export function chooseHostFolders(policy: SandboxPolicy, { hidden, showsSystem }: HostFolderOptions): HostFolder[] {
  const secrets = hidden.flatMap((path) => realPath(path) ?? []);
  const shown = askedFor(policy);
  for (const folder of shown) refuseReserved(folder, secrets);
  const system = showsSystem ? systemFolders.flatMap(toSystemFolder) : [];
  const covered = [...system, ...shown].flatMap((folder) => coversIn(folder, secrets));
  const inner = [...shown, ...covered];
  const folders = [...inner, ...shown.flatMap((folder) => anchorsIn(folder, inner))];
  // The first of several with the same path wins: an anchor may be a folder that is shown anyway.
  const byPath = new Map(folders.toReversed().map((folder) => [folder.path, folder]));
  return [...byPath.values()].sort((one, other) => one.path.length - other.path.length);
}

function askedFor({ workspace, readable = [] }: SandboxPolicy): HostFolder[] {
  // Programs are often listed as readable although they are part of the system.
  const further = readable.filter((path) => !systemFolders.some((folder) => isWithin(folder, resolve(path))));
  return [
    ...(workspace === undefined ? [] : [toShown(workspace.path, workspace.access)]),
    ...further.map((path) => toShown(path, "read")),
  ];
}

function toShown(path: string, access: "read" | "write"): HostFolder {
  const source = realPath(path);
  if (source === undefined) throw new Error(`a sandbox cannot show ${path}: the file or folder does not exist`);
  return { path: resolve(path), source, access };
}

function toSystemFolder(path: string): HostFolder[] {
  const source = realPath(path);
  // A link to another system folder is a link in the sandbox as well.
  return source === path ? [{ path, source, access: "read" }] : [];
}

function refuseReserved({ path, source }: HostFolder, secrets: readonly string[]): void {
  const inside = reservedFolders.find((folder) => isWithin(path, folder) || isWithin(source, folder));
  if (inside !== undefined)
    throw new Error(`a sandbox does not show ${path}: it contains ${inside}, which belongs to the host`);
  const around = kernelFolders.find((folder) => isWithin(folder, path) || isWithin(folder, source));
  if (around !== undefined) throw new Error(`a sandbox does not show ${path}: it is part of ${around}`);
  if (secrets.includes(source)) throw new Error(`a sandbox does not show ${path}: the host keeps its own data there`);
}

/** By their real paths: a hidden folder is covered under any name. */
function coversIn({ path, source }: HostFolder, secrets: readonly string[]): HostFolder[] {
  return secrets
    .filter((secret) => secret !== source && isWithin(source, secret))
    .map((secret) => ({ path: join(path, relative(source, secret)), source: secret, access: "none" }));
}

/**
 * The folders between a workspace and a folder inside of it, each as its own mount, since a mount cannot be renamed.
 * Otherwise a program could move the parent of a hidden folder, and the next program would find the hidden folder
 * uncovered.
 */
function anchorsIn(workspace: HostFolder, inner: readonly HostFolder[]): HostFolder[] {
  if (workspace.access !== "write") return [];
  return inner
    .filter(({ path }) => path !== workspace.path && isWithin(workspace.path, path))
    .flatMap(({ path }) => {
      const anchors: HostFolder[] = [];
      for (let at = dirname(path); at !== workspace.path; at = dirname(at)) {
        // Folders inside of a covered folder need no anchor.
        if (inner.some((folder) => folder.access !== "write" && isWithin(folder.path, at))) continue;
        anchors.push({ path: at, source: join(workspace.source, relative(workspace.path, at)), access: "write" });
      }
      return anchors;
    });
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
