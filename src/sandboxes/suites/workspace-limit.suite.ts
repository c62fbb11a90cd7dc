// Programs that try to fill a disk unnoticed. Each prints how many bytes it has allocated so far.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ProcessSandbox } from "../../plugin/ports/sandbox.ts";
import { type RunResult, runConfined } from "./confined-run.suite.ts";

const mebibyte = 1024 * 1024;

/** Helpers of every attack. It ends by itself after 1.2 GB. */
const prelude = `
import array, mmap, os, socket
total, block = 0, bytes(1 << 20)
def taken(count):
    global total
    total += count
    print(total, flush=True)
    if total >= 1_200_000_000: os._exit(0)
def create(path):
    return os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
def fill(path, count=16):
    file = create(path)
    for _ in range(count):
        os.write(file, block)
        taken(len(block))
    return file
`;

export const attacks = {
  "many files": `for i in range(10_000): os.close(fill(f"file{i}", 1))`,
  "names that are not UTF-8": `for i in range(10_000): os.close(fill(b"\\xff\\xfe%d" % i, 1))`,
  "folders beyond the longest path": `
for i in range(40): os.mkdir("d" * 200); os.chdir("d" * 200)
for i in range(10_000): os.close(fill(f"file{i}", 1))`,
  "folders that nobody may read": `
os.mkdir("locked"); files = [create(f"locked/{i}") for i in range(50)]; os.chmod("locked", 0)
for i in range(10_000): os.write(files[i % 50], block); taken(len(block))`,
  "removed files that are open": `
files = []
for i in range(10_000): files.append(fill("file")); os.unlink("file")`,
  "removed files with one page mapped": `
maps = []
for i in range(10_000):
    file = fill("file"); os.unlink("file")
    maps.append(mmap.mmap(file, 4096)); os.close(file)`,
  "removed files in the queue of a socket": `
pair = socket.socketpair()
for i in range(10_000):
    file = fill("file"); os.unlink("file")
    pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]); os.close(file)`,
  "many writers at once": `
for child in range(60):
    if os.fork() == 0:
        for i in range(20): file = create(f"file{child}.{i}"); os.write(file, block); os.close(file)
        os._exit(0)
for child in range(60): os.wait()`,
  "reserved room": `
for i in range(10_000):
    size = 256 << 20
    os.posix_fallocate(create(f"file{i}"), 0, size); taken(size)`,
} as const;

export type Attack = keyof typeof attacks;

export const attackLimits = { workspaceBytes: 64 * mebibyte, fileBytes: 256 * mebibyte };

export interface Attacked extends Pick<RunResult, "verdict" | "isWorkspaceFull" | "stderr"> {
  takenBytes: number;
}

export async function runAttack(sandbox: ProcessSandbox, attack: Attack, path: string): Promise<Attacked> {
  const { stdout, verdict, isWorkspaceFull, stderr } = await runConfined(
    sandbox,
    ["python3", "-c", `${prelude}${attacks[attack]}`],
    { workspace: { path, access: "write" }, limits: attackLimits },
  );
  const printed = Number(stdout.trim().split("\n").at(-1));
  return { verdict, isWorkspaceFull, stderr, takenBytes: Math.max(printed, await diskUse(path)) };
}

async function diskUse(path: string): Promise<number> {
  // It fails for folders that its own user may not read, and prints the sum of the others.
  const { stdout } = await promisify(execFile)("du", ["-s", "-B1", path]).catch((error: { stdout: string }) => error);
  return Number.parseInt(stdout, 10);
}
