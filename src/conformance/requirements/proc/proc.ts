// The proc capability: starting programs, their output, and their end.
import { asArray, asObject, check, checkEqual, checkError, checkType } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";
import { dataOf, readEventType, startProcess } from "./processes.ts";

const needs = { capability: "proc" } as const;

export const proc: readonly Requirement[] = [
  {
    id: "PROC-1",
    title: "a process is started by its arguments, and its output and its end come as events of the spawn",
    source: "wire facts 3.5 P6; proc tests of the SDK",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const process = await startProcess(peer, ["echo", "$HOME;", "a  b"]);
      check(Number(process.answer.pid) > 0, `pid: expected a process, got ${process.answer.pid}`);
      checkEqual((await process.end()).code, 0, "data.code of the end");
      checkEqual(process.text(), "$HOME; a  b\n", "output");
      checkEqual(
        process.events().map(({ seq }) => seq),
        process.events().map((_, index) => index + 1),
        "seq",
      );
      for (const { req_id } of process.events()) checkEqual(req_id, process.answer.req_id, "req_id");
    },
  },
  {
    id: "PROC-2",
    title: "no event of a process comes before the answer to its spawn",
    source: "wire facts 3.5 P7",
    level: "must",
    review({ received }) {
      const answered = new Set<string>();
      for (const { session, message } of received) {
        if (message?.req_id === undefined) continue;
        const key = `${session} ${message.req_id}`;
        if (message.type !== readEventType) answered.add(key);
        else check(answered.has(key), `an event came before the answer: ${JSON.stringify(message)}`);
      }
    },
  },
  {
    id: "PROC-3",
    title: "stdout and stderr come apart and each in its order, and the exit code is exact",
    source: "wire facts 3.5 P6",
    level: "must",
    needs,
    async run({ agent }) {
      const script = "for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 7";
      const process = await startProcess(await agent(), ["sh", "-c", script]);
      checkEqual((await process.end()).code, 7, "data.code of the end");
      checkEqual(process.text("stdout"), "out 1\nout 2\nout 3\n", "stdout");
      // The end of a process that failed comes on stderr as well, and has no text.
      checkEqual(process.text("stderr"), "err 1\nerr 2\nerr 3\n", "stderr");
    },
  },
  {
    id: "PROC-4",
    title:
      "a command that cannot be started is answered with ok false and a reason: nothing, a line, no program, no folder",
    source: "wire facts 3.5 P4; proc tests of the SDK (Empty command, not a list)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const requests = [
        { cmd: [] },
        { cmd: "echo hello" },
        { cmd: ["conformance-no-such-program"] },
        { cmd: ["echo"], cwd: "/conformance/no/such/folder" },
      ];
      for (const request of requests) {
        const answer = checkType(await peer.request("proc/spawn/req", request), "proc/spawn/resp");
        checkEqual(answer.ok, false, `ok for ${JSON.stringify(request)}`);
        check(String(answer.error) !== "", `${JSON.stringify(request)} should be answered with a reason`);
      }
      const { error } = await peer.request("proc/spawn/req", { cmd: [] });
      check(String(error).includes("Empty command"), `error: expected "Empty command", got ${error}`);
    },
  },
  {
    id: "PROC-5",
    title: "a program that is not on the list is not allowed, under any path",
    source: "proc tests of the SDK (not allowed)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const program of ["conformance_forbidden", "/sbin/reboot", "../../../../sbin/reboot"]) {
        const answer = checkType(await peer.request("proc/spawn/req", { cmd: [program] }), "proc/spawn/resp");
        checkEqual(answer.ok, false, `ok of ${program}`);
      }
    },
  },
  {
    id: "PROC-6",
    title: "a process gets the variables that its agent gives it",
    source: "wire facts 3.5 P3",
    level: "must",
    needs,
    async run({ agent }) {
      const env = { CONFORMANCE_VARIABLE: "spaces and = signs" };
      const process = await startProcess(await agent(), ["sh", "-c", 'echo "$CONFORMANCE_VARIABLE"'], { env });
      await process.end();
      checkEqual(process.text(), "spaces and = signs\n", "output");
    },
  },
  {
    id: "PROC-7",
    title: "written text reaches the input of a process, until its end",
    source: "wire facts 3.5 P1, P3",
    level: "must",
    needs,
    async run({ agent }) {
      const process = await startProcess(await agent(), ["cat"]);
      const answer = checkType(await process.request("proc/write/req", { data: "first " }), "proc/write/resp");
      checkEqual([answer.ok, answer.success], [true, true], "ok and success");
      await process.request("proc/write/req", { data: "grüße €\n", eof: true });
      checkEqual((await process.end()).code, 0, "data.code of the end");
      checkEqual(process.text(), "first grüße €\n", "output");
    },
  },
  {
    id: "PROC-8",
    title: "a process without input sees the end of it at once",
    source: "wire facts 3.5 P3 (stdin_mode)",
    level: "must",
    needs,
    async run({ agent }) {
      const process = await startProcess(await agent(), ["cat"], { stdin_mode: "null" });
      checkEqual((await process.end()).code, 0, "data.code of the end");
    },
  },
  {
    id: "PROC-9",
    title: "an unknown process is unknown_proc, and not_found in a status",
    source: "wire facts 3.5 P5, C15; proc tests of the SDK (not found)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const proc_id = "conformance-nobody";
      for (const type of ["proc/write/req", "proc/kill/req"]) {
        const { message } = checkError(await peer.request(type, { proc_id }), "unknown_proc");
        check(String(message).includes("not found"), `message of ${type}: expected "not found", got ${message}`);
      }
      const status = checkType(await peer.request("proc/status/req", { proc_id }), "proc/status/resp");
      checkEqual([status.proc_id, status.status], [proc_id, "not_found"], "status");
    },
  },
  {
    id: "PROC-10",
    title: "a signal ends a process, and later requests to it are answered with proc_dead",
    source: "wire facts 3.5 P1, P2",
    level: "must",
    needs,
    async run({ agent }) {
      const process = await startProcess(await agent(), ["sleep", "60"]);
      const answer = checkType(await process.request("proc/kill/req", { signal: "SIGKILL" }), "proc/kill/resp");
      checkEqual([answer.ok, answer.success], [true, true], "ok and success");
      const end = await process.end();
      checkEqual([end.signal, end.exit_code, end.code], ["SIGKILL", null, -9], "signal, exit_code and code");
      checkError(await process.request("proc/write/req", { data: "x" }), "proc_dead");
      checkError(await process.request("proc/kill/req"), "proc_dead");
    },
  },
  {
    id: "PROC-11",
    title: "the requested signal is sent, and proc/signal is another name of kill",
    source: "wire facts 3.5 P2, P9",
    level: "should",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const script = "trap 'echo usr1' USR1; trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done";
      const process = await startProcess(peer, ["sh", "-c", script]);
      const said = (text: string) => process.event(() => process.text().includes(text), `output with "${text}"`);
      await said("ready");
      for (const type of ["proc/signal", "proc/signal/req"])
        checkType(await process.request(type, { signal: "USR1" }), "proc/signal/resp");
      await said("usr1");
      checkType(await process.request("proc/kill/req"), "proc/kill/resp");
      checkEqual((await process.end()).code, 5, "data.code of the end");
      const other = await startProcess(peer, ["sleep", "60"]);
      checkError(await other.request("proc/kill/req", { signal: "SIGCONFORMANCE" }), "schema_violation");
      await other.request("proc/kill/req", { signal: "SIGKILL" });
    },
  },
  {
    id: "PROC-12",
    title: "a status has both documented shapes, while a process runs and after it",
    source: "wire facts 3.5 P5",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const process = await startProcess(peer, ["sh", "-c", "read line; exit 3"]);
      const before = checkType(await process.request("proc/status/req"), "proc/status/resp");
      checkEqual([before.status, before.state, before.exit_code], ["running", "running", null], "a process that runs");
      checkEqual(before.cmd, ["sh", "-c", "read line; exit 3"], "cmd");
      checkEqual([before.pid, before.error], [process.answer.pid, ""], "pid and error");
      check(Number(before.started_at) > 1e9, `started_at: expected seconds since 1970, got ${before.started_at}`);
      await process.request("proc/write/req", { data: "\n" });
      await process.end();
      const after = await process.request("proc/status/req");
      checkEqual([after.status, after.state, after.exit_code], ["failed", "crashed", 3], "a process that has failed");
      const fine = await startProcess(peer, ["echo"]);
      await fine.end();
      const { status, state } = await fine.request("proc/status/req");
      checkEqual([status, state], ["completed", "stopped"], "a process that has ended well");
    },
  },
  {
    id: "PROC-13",
    title: "without proc_id all processes of the session are listed, and none of another session",
    source: "wire facts 3.5 P5",
    level: "must",
    needs,
    async run({ connectAs, agent }) {
      const stranger = await startProcess(await agent(), ["sleep", "60"]);
      const peer = await connectAs("conformance-lister");
      const started = [await startProcess(peer, ["sleep", "60"]), await startProcess(peer, ["echo"])];
      const answer = checkType(await peer.request("proc/status/req"), "proc/status/resp");
      const procs = asArray(answer.procs, "procs").map((entry) => asObject(entry, "procs[]"));
      checkEqual(
        procs.map(({ proc_id }) => proc_id),
        started.map(({ id }) => id),
        "procs",
      );
      for (const { cmd, state, pid, started_at } of procs)
        check(Array.isArray(cmd) && typeof state === "string" && Number(pid) > 0 && Number(started_at) > 0, "fields");
      checkError(await peer.request("proc/kill/req", { proc_id: stranger.id }), "unknown_proc");
      await stranger.request("proc/kill/req", { signal: "SIGKILL" });
    },
  },
  {
    id: "PROC-14",
    title: "a process that times out is ended, and its status shows it",
    source: "wire facts 3.5 P3, P5 (timedout)",
    level: "must",
    needs,
    async run({ agent }) {
      const process = await startProcess(await agent(), ["sleep", "60"], { timeout: 1 });
      const end = await process.end();
      checkEqual([end.state, end.error], ["timedout", "timeout"], "state and error");
      checkEqual((await process.request("proc/status/req")).state, "timedout", "state");
    },
  },
  {
    id: "PROC-15",
    title: "processes beyond the limit of a session are refused with proc_limit, and the others continue",
    source: "wire facts 3.5 P8, C15",
    level: "should",
    needs,
    async run({ connectAs }) {
      const peer = await connectAs("conformance-spawner");
      const answers = await Promise.all(
        Array.from({ length: 40 }, () => peer.request("proc/spawn/req", { cmd: ["sleep", "60"] })),
      );
      const started = answers.filter(({ ok }) => ok === true);
      for (const answer of answers) if (!started.includes(answer)) checkError(answer, "proc_limit");
      check(started.length > 0 && started.length < answers.length, `${started.length} processes were started`);
      const [first] = started;
      await peer.request("proc/kill/req", { proc_id: first?.proc_id, signal: "SIGKILL" });
      checkEqual((await peer.request("proc/spawn/req", { cmd: ["sleep", "60"] })).ok, true, "ok with room again");
    },
  },
  {
    id: "PROC-16",
    title: "characters are not split between events, and bytes that are not text are sent as base64",
    source: "wire facts 3.13 (event data); guide: processes (output)",
    level: "should",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const slow = 'for byte in 342 202 254 360 237 230 200; do printf "\\\\$byte"; sleep 0.02; done';
      const text = await startProcess(peer, ["sh", "-c", slow]);
      await text.end();
      checkEqual(text.text(), "€😀", "output");
      const bytes = await startProcess(peer, ["sh", "-c", "printf '\\377\\376'"]);
      await bytes.end();
      const [first] = bytes.events();
      checkEqual(dataOf(first ?? bytes.answer).base64, "//4=", "data.base64");
    },
  },
];
