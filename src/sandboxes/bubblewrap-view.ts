// What a program sees in bubblewrap: the arguments that build its file system, and the paths that are visible in it.
import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { SandboxPolicy } from "../host/sandbox.ts";
import { isWithin } from "./visible-paths.ts";

/** Programs and libraries. Links, as on systems where all of it is in /usr, are made again as links. */
const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** The rest of /etc is nobody's business. */
const systemFiles = ["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"];

const networkFiles = [
  "/etc/resolv.conf",
  "/etc/hosts",
  "/etc/nsswitch.conf",
  "/etc/services",
  "/etc/protocols",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/ca-certificates",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust",
];

/** A folder that contains one of these, shown to a program, would undo the rest. */
const reservedFolders = [...systemFolders, "/etc", "/proc", "/sys", "/dev", "/tmp", "/run", "/boot", "/var"];

export interface View {
  args: string[];
  /** Files of the host that are visible, for finding the program. */
  visible: string[];
}

export interface ViewOptions {
  policy: SandboxPolicy;
  /** Folders that stay empty, where one around them is shown. */
  hidden: readonly string[];
  scratchBytes: number;
  /** Files to show instead of the host's own: path inside to path outside. */
  replacements: Readonly<Record<string, string>>;
}

/** A folder of the host in the view: shown, or covered by an empty one. */
interface Piece {
  path: string;
  kind: "bind" | "ro-bind" | "hidden";
}

export function createView({ policy, hidden, scratchBytes, replacements }: ViewOptions): View {
  const pieces = toPieces(policy, hidden);
  const system = systemFolders.filter((path) => existsSync(path));
  const files = [...systemFiles, ...(policy.network ? networkFiles : [])].filter((path) => existsSync(path));
  const scratch = ["--perms", "1777", "--size", String(scratchBytes), "--tmpfs"];
  return {
    args: [
      ...system.flatMap((path) =>
        lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path],
      ),
      ...files.flatMap((path) => makeParents(path, "/")),
      // A link may lead to where nothing is visible, as that of the resolver to /run, so its target is shown in its place.
      ...files.flatMap((path) => ["--ro-bind", realpathSync(path), path]),
      ...Object.entries(replacements).flatMap(([path, source]) => ["--ro-bind", source, path]),
      ...["--proc", "/proc", "--dev", "/dev"],
      // Each private folder in memory has a size, or it would be a way around the limit of the others.
      ...[...scratch, "/dev/shm", "--remount-ro", "/dev", ...scratch, "/tmp"],
      ...pieces.flatMap((piece, index) => place(piece, pieces.slice(0, index))),
      ...pieces.filter(({ kind }) => kind === "hidden").flatMap(({ path }) => ["--remount-ro", path]),
      ...["--remount-ro", "/"],
    ],
    visible: [...system, ...pieces.filter(({ kind }) => kind !== "hidden").map(({ path }) => path)],
  };
}

/** Outer ones first, or they would cover the inner ones. */
function toPieces({ workspace, readable = [] }: SandboxPolicy, hidden: readonly string[]): Piece[] {
  // Programs are often named as readable, and are so already.
  const further = readable.filter((path) => !systemFolders.some((folder) => isWithin(folder, resolve(path))));
  const shown: Piece[] = further.map((path) => ({ path: resolve(path), kind: "ro-bind" }));
  if (workspace !== undefined) {
    shown.push({ path: resolve(workspace.path), kind: workspace.access === "write" ? "bind" : "ro-bind" });
  }
  for (const { path } of shown) refuseReserved(path);
  const covered = hidden.filter((path) => shown.some((piece) => piece.path !== path && isWithin(piece.path, path)));
  const pieces = [...shown, ...covered.filter(existsSync).map((path): Piece => ({ path, kind: "hidden" }))];
  return pieces.sort((one, other) => one.path.length - other.path.length);
}

function place({ path, kind }: Piece, before: readonly Piece[]): string[] {
  const around = before.findLast((piece) => isWithin(piece.path, path));
  if (kind === "hidden") return ["--perms", "0555", "--size", "65536", "--tmpfs", path];
  // What is inside a shown folder exists already; elsewhere the way to it has to be made.
  const parents = around === undefined || around.kind === "hidden" ? makeParents(path, around?.path ?? "/") : [];
  return [...parents, `--${kind}`, realpathSync(path), path];
}

function refuseReserved(path: string): void {
  const source = existing(path);
  const reserved = reservedFolders.find((folder) => isWithin(path, folder) || isWithin(source, folder));
  if (reserved !== undefined) {
    throw new Error(`a sandbox does not show ${path}: it contains ${reserved}, which belongs to the host`);
  }
}

function existing(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    throw new Error(`a sandbox cannot show ${path}: there is no such file or folder`);
  }
}

/** Made by name, because bubblewrap makes missing parents private to the user that it runs as. Outermost first. */
function makeParents(path: string, below: string): string[] {
  const parents: string[] = [];
  for (let at = dirname(path); at !== below && at !== dirname(at); at = dirname(at)) {
    if (at !== "/tmp") parents.unshift("--perms", "0755", "--dir", at);
  }
  return parents;
}
