// The file system of a program in bubblewrap: the arguments that build it, and the paths that are visible in it.
import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import type { SandboxPolicy } from "../../plugin/ports/sandbox.ts";
import { chooseHostFolders, type HostFolder, systemFolders } from "../workspace/host-folders.ts";
import { isWithin, type VisiblePaths } from "../workspace/visible-paths.ts";

/** The rest of /etc is not shown. */
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

export interface View {
  args: string[];
  /** Files of the host that are visible, for finding the program. */
  visible: VisiblePaths;
}

export interface ViewOptions {
  policy: SandboxPolicy;
  /** Folders that are replaced by empty ones inside of a visible folder. */
  hidden: readonly string[];
  scratchBytes: number;
  /** Files to show instead of the host's own: path inside to path outside. */
  replacements: Readonly<Record<string, string>>;
}

export function createView({ policy, hidden, scratchBytes, replacements }: ViewOptions): View {
  const folders = chooseHostFolders(policy, { hidden, showsSystem: true });
  const covered = folders.filter(({ access }) => access === "none").map(({ path }) => path);
  const system = systemFolders.filter((path) => existsSync(path));
  const files = [...systemFiles, ...(policy.network ? networkFiles : [])].filter((path) => existsSync(path));
  const scratch = ["--perms", "1777", "--size", String(scratchBytes), "--tmpfs"];
  return {
    args: [
      // Links are created as links, for systems where all folders are in /usr.
      ...system.flatMap((path) =>
        lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path],
      ),
      ...files.flatMap((path) => makeParents(path, "/")),
      // The target of a link may be invisible, for example /run for the resolver's, so the target is shown in place of
      // the link.
      ...files.flatMap((path) => ["--ro-bind", realpathSync(path), path]),
      ...Object.entries(replacements).flatMap(([path, source]) => ["--ro-bind", source, path]),
      ...["--proc", "/proc", "--dev", "/dev"],
      // Each private folder in memory has a size limit, or it would bypass the limit of the others.
      ...[...scratch, "/dev/shm", "--remount-ro", "/dev", ...scratch, "/tmp"],
      ...folders.flatMap((folder, index) => place(folder, folders.slice(0, index))),
      ...covered.flatMap((path) => ["--remount-ro", path]),
      ...["--remount-ro", "/"],
    ],
    visible: {
      shown: [...system, ...folders.filter(({ access }) => access !== "none").map(({ path }) => path)],
      covered,
    },
  };
}

function place({ path, source, access }: HostFolder, before: readonly HostFolder[]): string[] {
  if (access === "none") return ["--perms", "0555", "--size", "65536", "--tmpfs", path];
  const around = before.findLast((folder) => isWithin(folder.path, path));
  // Folders inside of a visible folder exist already; elsewhere the parents have to be created.
  const parents = around === undefined || around.access === "none" ? makeParents(path, around?.path ?? "/") : [];
  return [...parents, access === "write" ? "--bind" : "--ro-bind", source, path];
}

/** Created explicitly, because bubblewrap makes missing parents private to its own user. Outermost first. */
function makeParents(path: string, below: string): string[] {
  const parents: string[] = [];
  for (let at = dirname(path); at !== below && at !== dirname(at); at = dirname(at)) {
    if (at !== "/tmp") parents.unshift("--perms", "0755", "--dir", at);
  }
  return parents;
}
