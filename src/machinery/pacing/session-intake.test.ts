import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { Message } from "../../protocol/envelope.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { IntakeSchedule } from "./intake-schedule.ts";
import { SessionIntake } from "./session-intake.ts";

const limits = { intakeSliceMs: 10, maxUnsentBytes: 100, maxIntakeBytes: 1_000 };

/** Intakes of one host whose turns end when the test says so. Each line takes a millisecond. */
function createIntakes(sliceMs = limits.intakeSliceMs) {
  const clock = createFakeClock();
  let turns: (() => void)[] = [];
  const schedule = new IntakeSchedule({
    limits: { intakeSliceMs: sliceMs },
    clock,
    nextTurn: (callback) => void turns.push(callback),
  });
  const endTurn = () => {
    const due = turns;
    turns = [];
    for (const callback of due) callback();
    return due.length > 0;
  };
  const endTurns = () => {
    while (endTurn());
  };
  const open = (answerBytes = 0) => {
    const seen: unknown[] = [];
    let onTaken = () => {};
    const answers = {
      untakenBytes: 0,
      onceTaken(callback: () => void) {
        onTaken = callback;
      },
    };
    const handle = (received: unknown) => {
      schedule.note(clock.now());
      clock.advance(1);
      seen.push(received);
      answers.untakenBytes += answerBytes;
    };
    const handler = {
      receiveLine: handle,
      receiveMessage: handle,
      receiveTooLong: () => handle("too long"),
    };
    const take = () => {
      answers.untakenBytes = 0;
      onTaken();
    };
    return { intake: new SessionIntake(schedule, limits, handler, answers), seen, take };
  };
  return { open, endTurn, endTurns };
}

const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index}`);

test("lines are handled at once while the slice has time", () => {
  const { open } = createIntakes();
  const { intake, seen } = open();
  intake.receiveText(lines(4).join("\n"));
  intake.receiveLine("five");
  intake.receiveMessage({ type: "six", id: "6" });
  intake.receiveTooLong();
  expect(seen).toEqual([...lines(4), "five", { type: "six", id: "6" }, "too long"]);
});

test("lines beyond the slice wait, and are handled in order in later turns", () => {
  const { open, endTurn, endTurns } = createIntakes();
  const { intake, seen } = open();
  intake.receiveText(lines(100).join("\n"));
  const first = seen.length;
  expect(first).toBeLessThan(20);
  intake.receiveLine("behind");
  intake.receiveMessage({ type: "last", id: "1" });
  expect(seen).toHaveLength(first);
  endTurn();
  expect(seen.length - first).toBeLessThanOrEqual(limits.intakeSliceMs);
  endTurns();
  expect(seen).toEqual([...lines(100), "behind", { type: "last", id: "1" }]);
});

test("a session with nothing waiting gets one line per turn handled at once, though another has used up the slice", () => {
  const { open, endTurn } = createIntakes();
  const [flood, quiet] = [open(), open()];
  flood.intake.receiveText(lines(1_000).join("\n"));
  quiet.intake.receiveLine("ping 1");
  expect(quiet.seen).toEqual(["ping 1"]);
  quiet.intake.receiveLine("ping 2");
  expect(quiet.seen).toEqual(["ping 1"]);
  endTurn();
  expect(quiet.seen).toEqual(["ping 1", "ping 2"]);
  quiet.intake.receiveLine("ping 3");
  expect(flood.seen.length).toBeLessThan(1_000);
});

test("a message that waits is a copy, and one without JSON form is answered all the same", () => {
  const { open, endTurns } = createIntakes();
  const { intake, seen } = open();
  intake.receiveText(lines(30).join("\n"));
  const message: Message = { type: "test", id: "1", value: "as sent" };
  intake.receiveMessage(message);
  message.value = "changed later";
  const cyclic: Message = { type: "test", id: "2" };
  Object.assign(cyclic, { self: cyclic });
  intake.receiveMessage(cyclic);
  expect(seen.at(-1)).toBe(cyclic);
  endTurns();
  expect(seen.at(-1)).toEqual({ type: "test", id: "1", value: "as sent" });
});

test("while answers beyond maxUnsentBytes are unread, no further line is handled; reading them resumes it", () => {
  const { open, endTurns } = createIntakes();
  const { intake, seen, take } = open(60);
  intake.receiveText(lines(7).join("\n"));
  expect(seen).toHaveLength(2);
  endTurns();
  expect(seen).toHaveLength(2);
  take();
  endTurns();
  expect(seen).toHaveLength(4);
  take();
  take();
  endTurns();
  take();
  endTurns();
  expect(seen).toEqual(lines(7));
});

test("beyond maxIntakeBytes the intake is full, and it calls back when there is room", () => {
  const { open, endTurns } = createIntakes();
  const { intake, take } = open(60);
  const [onRoom, onStopped, onEmpty] = [vi.fn(), vi.fn(), vi.fn()];
  intake.receiveText("x".repeat(90));
  intake.receiveText(`${"y".repeat(90)}\n`);
  expect(intake.isFull).toBe(false);
  intake.receiveText(`${"z".repeat(600)}\n${"z".repeat(600)}`);
  expect(intake.isFull).toBe(true);
  intake.onceRoom(onRoom);
  intake.onceRoom(onStopped)();
  intake.onceEmpty(onEmpty);
  endTurns();
  expect(onRoom).not.toHaveBeenCalled();
  take();
  endTurns();
  expect(intake.isFull).toBe(false);
  expect(onRoom).toHaveBeenCalledOnce();
  expect(onStopped).not.toHaveBeenCalled();
  take();
  endTurns();
  expect(onEmpty).toHaveBeenCalledOnce();
  intake.onceEmpty(onEmpty);
  expect(onEmpty).toHaveBeenCalledTimes(2);
});

test("closing drops the waiting lines and calls back those that wait for room", () => {
  const { open, endTurns } = createIntakes();
  const { intake, seen } = open();
  intake.receiveText("x\n".repeat(2_000));
  const handled = seen.length;
  const onRoom = vi.fn();
  intake.onceRoom(onRoom);
  intake.close();
  intake.close();
  intake.receiveLine("later");
  endTurns();
  expect(onRoom).toHaveBeenCalledOnce();
  expect(seen).toHaveLength(handled);
});

test("flush handles waiting lines for one slice, though answers are unread", () => {
  const { open } = createIntakes();
  const { intake, seen } = open(200);
  intake.receiveText(lines(100).join("\n"));
  expect(seen).toHaveLength(1);
  intake.flush();
  expect(seen).toHaveLength(1 + limits.intakeSliceMs);
});

test("a million blank lines are skipped in slices as well", () => {
  const { open, endTurns } = createIntakes();
  const { intake, seen } = open();
  intake.receiveText(lines(30).join("\n"));
  intake.receiveText(`${"\n \r\n".repeat(300_000)}last`);
  endTurns();
  expect(seen.at(-1)).toBe("last");
});

test("calls that have waited for a slot run in slices, and not while answers are unread", () => {
  const { open, endTurns } = createIntakes();
  const { intake, seen, take } = open(60);
  intake.receiveText("one\ntwo");
  expect(intake.mayStart()).toBe(false);
  const start = vi.fn();
  intake.onceMayStart(start);
  endTurns();
  expect(start).not.toHaveBeenCalled();
  take();
  endTurns();
  expect(start).toHaveBeenCalledOnce();
  expect(seen).toEqual(["one", "two"]);
});

test("however text is cut and sliced, every line is handled once and in order", () => {
  const line = fc.constantFrom("a", "bb", '{"c":1}', "", "  ", "\r", '{"d":2}\r', " e ");
  const property = fc.property(
    fc.array(fc.tuple(fc.array(line), fc.boolean(), fc.boolean())),
    fc.integer({ min: 1, max: 20 }),
    fc.integer({ min: 0, max: 70 }),
    (bodies, sliceMs, answerBytes) => {
      const { open, endTurn, endTurns } = createIntakes(sliceMs);
      const { intake, seen, take } = open(answerBytes);
      for (const [body, mustEndTurn, mustTake] of bodies) {
        intake.receiveText(body.join("\n"));
        if (mustEndTurn) endTurn();
        if (mustTake) take();
      }
      for (let count = 0; count < 500; count++) {
        take();
        endTurns();
      }
      const sent = bodies.flatMap(([body]) => body.map((text) => (text.startsWith("{") ? text : text.trim())));
      expect(seen).toEqual(sent.filter((text) => text !== ""));
    },
  );
  fc.assert(property, { numRuns: 200 });
});
