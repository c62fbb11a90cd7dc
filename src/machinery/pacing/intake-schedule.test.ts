import { expect, test } from "vitest";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { IntakeSchedule, type WaitingIntake } from "./intake-schedule.ts";

/** A schedule whose turns end when the test says so. */
function createSchedule(intakeSliceMs = 10) {
  const clock = createFakeClock();
  let turns: (() => void)[] = [];
  const schedule = new IntakeSchedule({
    limits: { intakeSliceMs },
    clock,
    nextTurn: (callback) => void turns.push(callback),
  });
  return {
    clock,
    schedule,
    /** Handles a line that takes so long, as a session does that need not wait. */
    handle(ms: number) {
      schedule.note(clock.now());
      clock.advance(ms);
    },
    /** Returns whether anything was asked for. */
    endTurn() {
      const due = turns;
      turns = [];
      for (const callback of due) callback();
      return due.length > 0;
    },
  };
}

/** A session with lines of which each takes so long. */
function waiting(name: string, count: number, clock: { advance(ms: number): void }, ms: number, seen: string[]) {
  let left = count;
  const intake: WaitingIntake = {
    serve(isOver) {
      while (left > 0 && !isOver()) {
        seen.push(name);
        clock.advance(ms);
        left -= 1;
      }
      return left > 0;
    },
  };
  return intake;
}

test("lines that take longer than a slice in one turn use it up, and the next turn has a new one", () => {
  const { schedule, handle, endTurn } = createSchedule();
  for (let count = 0; count < 12; count++) handle(1);
  expect(schedule.isUsedUp).toBe(true);
  endTurn();
  expect(schedule.isUsedUp).toBe(false);
});

test("lines in turns of their own never use up a slice, however long they take together", () => {
  const { schedule, handle, endTurn } = createSchedule();
  for (let count = 0; count < 100; count++) {
    handle(4);
    expect(schedule.isUsedUp).toBe(false);
    endTurn();
  }
});

test("the next turn is asked for once per half slice, not once per line", () => {
  const { handle, endTurn } = createSchedule();
  handle(0);
  expect(endTurn()).toBe(true);
  for (let count = 0; count < 40; count++) handle(0.1);
  expect(endTurn()).toBe(false);
});

test("a clock that is set back does not end the pacing", () => {
  const { clock, schedule, handle } = createSchedule();
  handle(1);
  clock.advance(-3_600_000);
  for (let count = 0; count < 20; count++) handle(1);
  expect(schedule.isUsedUp).toBe(true);
});

test("sessions with waiting lines share each slice in rotation", () => {
  const { clock, schedule, endTurn } = createSchedule(4);
  const seen: string[] = [];
  schedule.add(waiting("a", 100, clock, 1, seen));
  schedule.add(waiting("b", 3, clock, 1, seen));
  expect(seen).toEqual([]);
  endTurn();
  expect(seen.join("")).toBe("abab");
  endTurn();
  expect(seen.join("")).toBe("abababaa");
});

test("a slice ends after the line that uses it up", () => {
  const { clock, schedule, endTurn } = createSchedule(10);
  const seen: string[] = [];
  schedule.add(waiting("slow", 3, clock, 50, seen));
  endTurn();
  expect([seen.length, schedule.isUsedUp]).toEqual([1, true]);
  endTurn();
  expect(seen).toHaveLength(2);
});

test("a session that was removed is not served", () => {
  const { clock, schedule, endTurn } = createSchedule();
  const seen: string[] = [];
  const intake = waiting("a", 1, clock, 1, seen);
  schedule.add(intake);
  schedule.remove(intake);
  endTurn();
  expect(seen).toEqual([]);
});
