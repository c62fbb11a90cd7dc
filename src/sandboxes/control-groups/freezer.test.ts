import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";
import { testWith } from "../../testing/needs.suite.ts";
import { findControlGroups } from "./control-groups.ts";

const groups = await findControlGroups();

testWith({ name: "control groups", isMet: groups !== undefined, isOptional: true })(
  "frozen members of a control group write nothing, and can be killed",
  async () => {
    const group = await groups?.create({ memoryBytes: 64 * 1024 * 1024, processes: 8 });
    if (group?.freezer === undefined) throw new Error("control groups cannot be frozen here");
    const joining = group.joinFiles.map((file) => `echo 0 > ${file}`).join(" && ");
    const child = spawn("sh", ["-c", `${joining} && while read -r line; do echo "$line"; done`]);
    const ended = once(child, "exit");
    child.stdin.write("first\n");
    expect(String(await once(child.stdout, "data"))).toBe("first\n");

    await group.freezer.freeze();
    child.stdin.write("second\n");
    const answer = once(child.stdout, "data");
    const isSilent = await Promise.race([answer.then(() => false), group.freezer.freeze().then(() => true)]);
    await group.freezer.thaw();
    expect([isSilent, String(await answer)]).toEqual([true, "second\n"]);

    await group.freezer.freeze();
    await group.remove();
    expect(await ended).toEqual([null, "SIGKILL"]);
  },
);
