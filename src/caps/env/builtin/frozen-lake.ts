// Cross a frozen lake without falling into a hole. Transition tables and probabilities equal those of FrozenLake-v1 in
// Gymnasium 1.3 to the last bit.
import { defineEnv, type Environment } from "../define-env.ts";
import { resetDenied } from "../problems.ts";
import { discrete } from "../spaces/discrete.ts";

/** S start, F frozen, H hole, G goal. */
const maps = {
  "4x4": ["SFFF", "FHFH", "FFFH", "HFFG"],
  "8x8": ["SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"],
} as const satisfies Record<string, readonly string[]>;

export type LakeMap = keyof typeof maps;

const directions = ["left", "down", "right", "up"] as const;
const successRate = 1 / 3;

export interface Transition {
  probability: number;
  next: number;
  reward: number;
  done: boolean;
}

/** The possible outcomes for each square and each action, in the order in which a draw picks them. */
export function lakeTransitions(map: LakeMap, isSlippery: boolean): Transition[][][] {
  const rows = maps[map];
  const size = rows.length;
  const squareAt = (index: number) => rows[Math.floor(index / size)]?.[index % size] ?? "F";
  const isEnd = (index: number) => squareAt(index) === "H" || squareAt(index) === "G";
  const towards = (from: number, action: number, probability: number): Transition => {
    const next = moved(from, action, size);
    return { probability, next, reward: squareAt(next) === "G" ? 1 : 0, done: isEnd(next) };
  };
  return Array.from({ length: size * size }, (_, from) =>
    directions.map((_name, action) => {
      if (isEnd(from)) return [{ probability: 1, next: from, reward: 0, done: true }];
      if (!isSlippery) return [towards(from, action, 1)];
      const sideways = (1 - successRate) / 2;
      return [
        towards(from, (action + 3) % 4, sideways),
        towards(from, action, successRate),
        towards(from, (action + 1) % 4, sideways),
      ];
    }),
  );
}

function moved(from: number, action: number, size: number): number {
  const [row, column] = [Math.floor(from / size), from % size];
  switch (directions[action]) {
    case "left":
      return row * size + Math.max(column - 1, 0);
    case "down":
      return Math.min(row + 1, size - 1) * size + column;
    case "right":
      return row * size + Math.min(column + 1, size - 1);
    default:
      return Math.max(row - 1, 0) * size + column;
  }
}

type LakeState = { square: number; isSlippery: boolean };

function createLake(name: string, map: LakeMap, maxSteps: number): Environment {
  const tables = { slippery: lakeTransitions(map, true), firm: lakeTransitions(map, false) };
  const squares = maps[map].length ** 2;
  const outcomesOf = ({ square, isSlippery }: LakeState, action: number) =>
    (isSlippery ? tables.slippery : tables.firm)[square]?.[action] ?? [];
  return defineEnv({
    name,
    description: `Cross a frozen lake (${map}) to the goal: 0 left, 1 down, 2 right, 3 up. Options: \`is_slippery\` (true), \`state\` for the first square.`,
    actionSpace: discrete(4),
    observationSpace: discrete(squares),
    maxSteps,
    reset({ options: { is_slippery = true, state = 0 } }): LakeState {
      if (typeof is_slippery !== "boolean") throw resetDenied("is_slippery: expected true or false");
      if (!Number.isInteger(state) || (state as number) < 0 || (state as number) >= squares)
        throw resetDenied(`state: expected a square from 0 to ${squares - 1}`);
      return { square: state as number, isSlippery: is_slippery };
    },
    step(state, action, { random }) {
      const outcomes = outcomesOf(state, action);
      const outcome = pick(outcomes, outcomes.length === 1 ? 0 : random.next());
      if (outcome === undefined) throw new Error(`there is no square ${state.square}`);
      const { next, reward, done, probability } = outcome;
      return { state: { ...state, square: next }, reward, done, info: { prob: probability } };
    },
    observe: ({ square }) => square,
    plan: (state) =>
      directions
        .map((_name, action) => ({ action, risk: riskOf(outcomesOf(state, action)) }))
        .sort((one, other) => one.risk - other.risk)
        .map(({ action }) => action),
    render: ({ square }, mode) => {
      if (mode === "text") return toText(map, square);
      return mode === "image" ? toSvg(map, square) : undefined;
    },
  });
}

/** The first outcome at which the sum of probabilities exceeds the draw. */
function pick(outcomes: readonly Transition[], draw: number): Transition | undefined {
  let sum = 0;
  return outcomes.find(({ probability }) => {
    sum += probability;
    return sum > draw;
  });
}

/** The probability that an action ends in a hole; reaching the goal counts in its favour. */
function riskOf(outcomes: readonly Transition[]): number {
  return outcomes.reduce(
    (risk, { probability, reward, done }) => risk + (done ? (reward > 0 ? -probability : probability) : 0),
    0,
  );
}

function toText(map: LakeMap, square: number): string {
  const size = maps[map].length;
  return maps[map]
    .map((row, y) => [...row].map((kind, x) => (y * size + x === square ? `[${kind}]` : ` ${kind} `)).join(""))
    .join("\n");
}

const colours: Readonly<Record<string, string>> = { S: "#d7ecff", F: "#eaf6ff", H: "#1d4e79", G: "#ffd23f" };

function toSvg(map: LakeMap, square: number): string {
  const size = maps[map].length;
  const cell = 40;
  const squares = maps[map].flatMap((row, y) =>
    [...row].map(
      (kind, x) =>
        `<rect x="${x * cell}" y="${y * cell}" width="${cell}" height="${cell}" fill="${colours[kind]}" stroke="#9cc"/>`,
    ),
  );
  const [x, y] = [(square % size) * cell + cell / 2, Math.floor(square / size) * cell + cell / 2];
  const side = size * cell;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}">${squares.join("")}<circle cx="${x}" cy="${y}" r="12" fill="#c0392b"/></svg>`;
}

export const frozenLake = createLake("FrozenLake-v1", "4x4", 100);
export const frozenLake8x8 = createLake("FrozenLake8x8-v1", "8x8", 200);
