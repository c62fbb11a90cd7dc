// Which folders of the host a program is shown, and which it must not see inside of them. Decided here for every sandbox
// that shows some folders and not others.
import { realpathSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { SandboxPolicy } from "../../host/ports/sandbox.ts";
import { isWithin } from "./visible-paths.ts";

/** Programs and libraries: what every sandbox has in one way or another. */
export const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** What the kernel makes up: a way around every limit, so nothing within it is shown either. */
const kernelFolders = ["/proc", "/sys", "/dev"];

/** A folder that contains one of these, shown to a program, would undo the rest. */
const reservedFolders = [...systemFolders, ...kernelFolders, "/etc", "/tmp", "/run", "/boot", "/var"];

export interface HostFolder {
  /** In the sandbox. */
  path: string;
  /** On the host, without links. */
  source: string;
  /** None: an empty folder stands in its place. */
  access: "read" | "write" | "none";
}

export interface HostFolderOptions {
  /** Folders of the host itself, which no program sees. */
  hidden: readonly string[];
  /** Whether programs see the host's own system, too. */
  showsSystem: boolean;
}

/** Outer ones first, since a later one covers what an earlier one shows. Throws where the policy asks for too much. */
export function chooseHostFolders(policy: SandboxPolicy, { hidden, showsSystem }: HostFolderOptions): HostFolder[] {
  const secrets = hidden.flatMap((path) => realPath(path) ?? []);
  const shown = askedFor(policy);
  for (const folder of shown) refuseReserved(folder, secrets);
  const system = showsSystem ? systemFolders.flatMap(toSystemFolder) : [];
  const covered = [...system, ...shown].flatMap((folder) => coversIn(folder, secrets));
  const inner = [...shown, ...covered];
  const folders = [...inner, ...shown.flatMap((folder) => anchorsIn(folder, inner))];
  // The first of those with the same path counts: an anchor may be one that is shown anyway.
  const byPath = new Map(folders.toReversed().map((folder) => [folder.path, folder]));
  return [...byPath.values()].sort((one, other) => one.path.length - other.path.length);
}

function askedFor({ workspace, readable = [] }: SandboxPolicy): HostFolder[] {
  // Programs are often named as readable, and are part of the system already.
  const further = readable.filter((path) => !systemFolders.some((folder) => isWithin(folder, resolve(path))));
  return [
    ...(workspace === undefined ? [] : [toShown(workspace.path, workspace.access)]),
    ...further.map((path) => toShown(path, "read")),
  ];
}

function toShown(path: string, access: "read" | "write"): HostFolder {
  const source = realPath(path);
  if (source === undefined) throw new Error(`a sandbox cannot show ${path}: there is no such file or folder`);
  return { path: resolve(path), source, access };
}

function toSystemFolder(path: string): HostFolder[] {
  const source = realPath(path);
  // A link to another of them is a link in the sandbox as well.
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

/** By what they really are: under another name, a secret is one all the same. */
function coversIn({ path, source }: HostFolder, secrets: readonly string[]): HostFolder[] {
  return secrets
    .filter((secret) => secret !== source && isWithin(source, secret))
    .map((secret) => ({ path: join(path, relative(source, secret)), source: secret, access: "none" }));
}

/**
 * The folders between a workspace and what lies in it, each as a mount of its own: those cannot be renamed. Otherwise a
 * program moves the folder around a hidden one, and the next program finds that where nothing covers it.
 */
function anchorsIn(workspace: HostFolder, inner: readonly HostFolder[]): HostFolder[] {
  if (workspace.access !== "write") return [];
  return inner
    .filter(({ path }) => path !== workspace.path && isWithin(workspace.path, path))
    .flatMap(({ path }) => {
      const anchors: HostFolder[] = [];
      for (let at = dirname(path); at !== workspace.path; at = dirname(at)) {
        // What lies in a folder that is covered has no way of its own.
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
