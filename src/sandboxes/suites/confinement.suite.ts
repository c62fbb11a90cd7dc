// Attempts to escape. Every attack prints what it could read. Harmless attacks are run without a sandbox first, to
// prove that they work at all.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProcessSandbox, SandboxLimits } from "../../plugin/ports/sandbox.ts";
import { createNoSandbox } from "../none.ts";
import { assumeIdentity } from "../workspace/identity.ts";
import { argumentsOfAll, makeWorkspace, runConfined, vanished } from "./confined-run.suite.ts";
import { type IgnoredWarning, type TreeLimits, testLimits } from "./limits.suite.ts";

export interface ConfinementOptions {
  /** Node inside the sandbox, for the attacks in JavaScript. */
  node: string;
  treeLimits: TreeLimits;
  ignoredWarning: IgnoredWarning;
  /** Whether the system is the host's. An image has its own files under the names that attacks look for. */
  system: "host" | "image";
}

const repository = resolve(import.meta.dirname, "../../..");

export function testConfinement(name: string, open: () => Promise<ProcessSandbox>, options: ConfinementOptions): void {
  describe(`${name} holds`, () => {
    let sandbox: ProcessSandbox;
    let folder: Awaited<ReturnType<typeof makeWorkspace>>;
    let outside: Awaited<ReturnType<typeof makeWorkspace>>;
    let server: Server;
    let port = 0;
    const secret = `secret-${randomUUID()}`;

    beforeAll(async () => {
      sandbox = await open();
      folder = await makeWorkspace();
      outside = await makeWorkspace();
      await writeFile(join(outside.path, "secret"), secret);
      await chmod(outside.path, 0o755);
      await symlink(join(outside.path, "secret"), join(folder.path, "link"));
      await symlink(outside.path, join(folder.path, "folder-link"));
      server = createServer((socket) => socket.end(secret));
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      const address = server.address();
      port = typeof address === "object" && address !== null ? address.port : 0;
    });
    afterAll(async () => {
      server.close();
      await sandbox.close();
      await folder[Symbol.asyncDispose]();
      await outside[Symbol.asyncDispose]();
    });

    const isSystemNode = options.node.startsWith("/usr/");
    const readable = isSystemNode ? [] : [dirname(dirname(options.node))];
    const policy = (limits: Partial<SandboxLimits> = {}) => ({
      workspace: { path: folder.path, access: "write" as const },
      readable,
      limits,
    });

    /** The output of an attack in JavaScript: the data of the host that it could read, or nothing. */
    async function attack(code: string, where: ProcessSandbox = sandbox): Promise<string> {
      const script = `const fs = require("node:fs"); const { spawnSync } = require("node:child_process");
        const got = (text) => console.log("GOT " + text);
        const attempt = (work) => { try { work(); } catch {} };
        ${code}`;
      const node = where === sandbox ? options.node : process.execPath;
      const { stdout } = await runConfined(where, [node, "-e", script], { ...policy(), env: { MINE: "1" } });
      return stdout;
    }

    const isOfHost = options.system === "host";
    // The first process belongs to the sandbox there, and has the same user unless the host is root.
    const firstEnvironment = process.getuid?.() === 0 ? ["/proc/1/environ"] : [];
    const systemFiles = isOfHost ? ["/etc/hostname", "/etc/fstab", ...firstEnvironment] : [];
    const systemPlaces = isOfHost ? ["/var", "/run", "/sys"] : [];
    const harmless: [string, () => string][] = [
      [
        "reads a file outside of the workspace",
        () => `attempt(() => got(fs.readFileSync(${JSON.stringify(join(outside.path, "secret"))}, "utf8")));`,
      ],
      [
        "reads the files of the host",
        () =>
          `for (const path of ${JSON.stringify([join(repository, "package.json"), "/etc/shadow", ...systemFiles])})
             attempt(() => got(path + fs.readFileSync(path, "utf8")));`,
      ],
      [
        "lists the folders of the host",
        () =>
          // The parents of the workspace exist, and contain nothing else.
          `const own = process.cwd().split("/");
           for (const path of ${JSON.stringify([dirname(repository), "/home", "/root", ...systemPlaces])})
             attempt(() => {
               const names = fs.readdirSync(path).filter((name) => !own.includes(name));
               if (names.length > 0) got(path + names);
             });`,
      ],
      [
        "follows a link out of the workspace",
        () =>
          `attempt(() => got(fs.readFileSync("link", "utf8"))); attempt(() => got(fs.readdirSync("folder-link").join()));`,
      ],
      [
        "writes through a link out of the workspace",
        () => `attempt(() => { fs.writeFileSync("folder-link/planted", "x"); got("written"); });`,
      ],
      [
        "finds the environment of the host",
        // The environment when this process was started: later changes are in no file.
        () =>
          `for (const pid of ["self", ...fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name))])
             attempt(() => { if (fs.readFileSync("/proc/" + pid + "/environ", "utf8").includes(${JSON.stringify(`PATH=${process.env.PATH}\0`)})) got(pid); });`,
      ],
      [
        "sees the processes of the host",
        () =>
          `for (const pid of fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name)))
             attempt(() => { if (/vi[t]est/.test(fs.readFileSync("/proc/" + pid + "/cmdline", "utf8"))) got(pid); });`,
      ],
      ["signals the host", () => `attempt(() => { process.kill(${process.pid}, 0); got("signalled"); });`],
      [
        "opens the memory of the host",
        () => `attempt(() => { fs.openSync("/proc/${process.pid}/mem", "r"); got("opened"); });`,
      ],
      [
        "reaches a service on the host's loopback",
        () =>
          `require("node:net").connect(${port}, "127.0.0.1").on("data", (data) => got(data)).on("error", () => {});`,
      ],
    ];

    test.each(harmless)("a program that %s gets nothing", async (_, code) => {
      // The control: without a sandbox the same program gets something. Planted files are removed again.
      const unconfined = (await attack(code(), createNoSandbox())).replaceAll("\n", "");
      expect(unconfined).toContain("GOT ");
      await runConfined(createNoSandbox(), ["rm", "-f", join(outside.path, "planted")], policy());

      expect(await attack(code())).toBe("");
      await expect(stat(join(outside.path, "planted"))).rejects.toMatchObject({ code: "ENOENT" });
    });

    test("no network can be reached", async () => {
      const script = `const interfaces = Object.values(require("node:os").networkInterfaces()).flat();
        if (interfaces.some(({ internal }) => !internal)) got("an interface");
        for (const host of ["1.1.1.1", "10.0.0.1", "172.17.0.1", "169.254.169.254"])
          require("node:net").connect({ host, port: 80, timeout: 500 }).on("connect", () => got(host)).on("error", (error) => {
            if (error.code !== "ENETUNREACH") got(error.code);
          }).on("timeout", () => got("a timeout"));
        require("node:dns").lookup("example.com", (error) => { if (!error) got("a name"); });`;
      expect(await attack(script)).toBe("");
    });

    test("a program can write only to its workspace and its private folders", async () => {
      const paths = ["/planted", "/usr/planted", "/usr/bin/planted", "/bin/planted", "/etc/planted", "/etc/passwd"];
      const more = ["/dev/planted", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/lib/planted"];
      const script = `for (const path of ${JSON.stringify([...paths, ...more])})
        attempt(() => { fs.writeFileSync(path, "x"); got(path); });`;
      expect(await attack(script)).toBe("");
    });

    test("files in /tmp are removed with the program", async () => {
      expect(
        await attack(`fs.writeFileSync("/tmp/a2e-planted", "x"); got(fs.readdirSync("/tmp").includes("a2e-planted"))`),
      ).toBe("GOT true\n");
      expect(await attack(`if (fs.existsSync("/tmp/a2e-planted")) got("left over");`)).toBe("");
      await expect(stat("/tmp/a2e-planted")).rejects.toMatchObject({ code: "ENOENT" });
    });

    test("a read-only workspace cannot be written", async () => {
      await writeFile(join(folder.path, "given"), "given");
      const workspace = { path: folder.path, access: "read" as const };
      const script = "cat given; echo more >> given; touch new; rm -f given";
      const { stdout } = await runConfined(sandbox, ["sh", "-c", script], { workspace });
      expect(stdout).toBe("given");
      expect(await readFile(join(folder.path, "given"), "utf8")).toBe("given");
      await expect(stat(join(folder.path, "new"))).rejects.toMatchObject({ code: "ENOENT" });
    });

    test("a readable folder can be read and not written, also inside the workspace", async () => {
      const inner = join(folder.path, "library");
      await mkdir(inner, { recursive: true });
      await writeFile(join(inner, "file"), "inner");
      const script = `cat ${outside.path}/secret ${inner}/file; touch ${outside.path}/new ${inner}/new`;
      const { stdout } = await runConfined(sandbox, ["sh", "-c", script], {
        ...policy(),
        readable: [outside.path, inner],
      });
      expect(stdout).toBe(`${secret}inner`);
      await expect(stat(join(outside.path, "new"))).rejects.toMatchObject({ code: "ENOENT" });
      await expect(stat(join(inner, "new"))).rejects.toMatchObject({ code: "ENOENT" });
    });

    test("a program has no privilege and cannot gain one", async () => {
      const { stdout } = await runConfined(sandbox, ["cat", "/proc/self/status"], policy());
      for (const name of ["CapInh", "CapPrm", "CapEff", "CapAmb"]) {
        expect(stdout).toMatch(new RegExp(`^${name}:\\s+0+$`, "m"));
      }
      expect(stdout).toMatch(/^NoNewPrivs:\s+1$/m);
    });

    test("a program cannot create a namespace in which it would be root", async () => {
      const script = `for (const kinds of [["--user"], ["--user", "--map-root-user", "--net"], ["--net"], ["--mount"]])
        if (spawnSync("unshare", [...kinds, "true"]).status === 0) got(kinds.join(" "));`;
      expect(await attack(script)).toBe("");
    });

    test("a program cannot mount, change its root, or make read-only files writable", async () => {
      const script = `const commands = [
          ["mount", "-t", "tmpfs", "none", "/usr"], ["mount", "-o", "remount,rw,bind", "/usr"], ["umount", "/usr"],
          ["chroot", "/tmp", "true"], ["mknod", "/tmp/disk", "b", "8", "0"],
          ["unshare", "-Urm", "sh", "-c", "mount -o remount,rw,bind /usr && touch /usr/planted"],
          ["unshare", "-Urm", "sh", "-c", "umount /proc && mount -t proc proc /proc"],
        ];
        for (const [file, ...args] of commands) if (spawnSync(file, args).status === 0) got([file, ...args].join(" "));`;
      expect(await attack(script)).toBe("");
    });

    test("a program cannot trace a process of the host, even of the same user", async (context) => {
      const hasPython = ["sh", "-c", "command -v python3"] as const;
      for (const [place, where] of [
        ["this machine", createNoSandbox()],
        [name, sandbox],
      ] as const) {
        const { code } = await runConfined(where, hasPython, policy());
        if (code !== 0) return context.skip(`needs python3 in ${place}`);
      }
      const { uid, gid } = assumeIdentity({ network: false, ...policy() }).identity;
      const target = spawn("sleep", ["100"], {
        stdio: "ignore",
        cwd: "/",
        ...(uid === process.getuid?.() ? {} : { uid, gid }),
      });
      try {
        // Without stopping it, so that it continues when its tracer ends.
        const script = `import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
print("GOT" if libc.ptrace(0x4206, ${target.pid}, None, None) == 0 else errno.errorcode[ctypes.get_errno()])`;
        const trace = async (where: ProcessSandbox) =>
          (await runConfined(where, ["python3", "-c", script], policy())).stdout;
        // The control. A machine may forbid tracing to all but parents.
        const unconfined = await trace(createNoSandbox());
        if (unconfined === "EPERM\n") return context.skip("needs a machine that lets a program trace another");
        expect(unconfined).toBe("GOT\n");
        expect(await trace(sandbox)).toMatch(/^(ESRCH|EPERM)\n$/);
      } finally {
        target.kill("SIGKILL");
      }
    });

    test("killing every visible process kills none of the host", async () => {
      const { code, signal } = await runConfined(sandbox, ["sh", "-c", "kill -9 -1; kill -9 1; exit 4"], policy());
      expect(code === 4 || signal === "SIGKILL").toBe(true);
      expect(process.kill(process.pid, 0)).toBe(true);
    });

    test("variables for a loader affect only the program", async () => {
      const { stderr, stdout } = await runConfined(sandbox, ["echo", "on"], {
        ...policy(),
        env: { LD_DEBUG: "files" },
      });
      const started = [...stderr.matchAll(/transferring control: (.*)$/gm)].map((match) => match[1]);
      expect(stdout).toBe("on\n");
      expect(started.filter((program) => !program?.endsWith("echo"))).toEqual([]);
    });

    test("a program inherits no open file of the host", async () => {
      const { stdout } = await runConfined(sandbox, ["sh", "-c", "ls /proc/$$/fd"], policy());
      expect(
        stdout
          .trim()
          .split("\n")
          .filter((descriptor) => Number(descriptor) > 2 && descriptor !== "10"),
      ).toEqual([]);
    });

    test("environment values are not visible in a list of processes", async () => {
      const value = `hidden-${randomUUID()}`;
      let isListed: boolean | undefined;
      await runConfined(sandbox, ["sh", "-c", "echo ready; exec sleep 100"], {
        ...policy(),
        env: { TOKEN: value },
        onOutput(pid) {
          isListed = argumentsOfAll().includes(value);
          process.kill(-pid, "SIGKILL");
        },
      });
      expect(isListed).toBe(false);
    });

    test("a child that left its group ends with the program", async () => {
      const marker = `100.${randomUUID().replace(/\D/g, "")}`;
      const script = `setsid sleep ${marker} & (setsid sh -c 'trap "" TERM HUP INT; sleep ${marker}' &) ; sleep 0.1`;
      const { code } = await runConfined(sandbox, ["sh", "-c", script], policy());
      expect(code).toBe(0);
      expect(await vanished(marker)).toBe(true);
    });

    test("a running program ends when it is released", async () => {
      const marker = `100.${randomUUID().replace(/\D/g, "")}`;
      let released: Promise<void> | undefined;
      const running = runConfined(sandbox, ["sh", "-c", `echo ready; setsid sleep ${marker} & sleep ${marker}`], {
        ...policy(),
        onOutput(_, confinement) {
          released = confinement.release();
        },
      });
      await running;
      await released;
      expect(await vanished(marker)).toBe(true);
    });

    testLimits({ sandbox: () => sandbox, policy, ...options });
  });
}
