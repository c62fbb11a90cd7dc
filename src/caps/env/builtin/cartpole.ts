// Balance a pole on a cart. The dynamics equal those of CartPole-v1 in Gymnasium 1.3 to the last bit: the same formulas
// in the same order, computed in double precision and returned in single precision.
import { defineEnv } from "../define-env.ts";
import { resetDenied } from "../problems.ts";
import type { SeededRandom } from "../random.ts";
import { box } from "../spaces/box.ts";
import { discrete } from "../spaces/discrete.ts";

const gravity = 9.8;
const poleMass = 0.1;
const totalMass = poleMass + 1.0;
/** Half of the pole's length. */
const length = 0.5;
const poleMassLength = poleMass * length;
const force = 10.0;
const secondsPerStep = 0.02;
const maxAngle = (12 * 2 * Math.PI) / 360;
const maxPosition = 2.4;

type CartState = [position: number, velocity: number, angle: number, angularVelocity: number];

const shown = [maxPosition * 2, Number.POSITIVE_INFINITY, maxAngle * 2, Number.POSITIVE_INFINITY];

const observationSpace = box(
  shown.map((bound) => -bound),
  shown,
  { shape: [4] },
);

export const cartPole = defineEnv({
  name: "CartPole-v1",
  description:
    "Balance a pole on a cart: 0 pushes left, 1 pushes right; each step is worth 1. Options: `low` and `high` for the initial state, or `state` to set it.",
  actionSpace: discrete(2),
  observationSpace,
  maxSteps: 500,
  reset({ options, random }) {
    const state = initialState(options, random);
    if (observationSpace.contains(state.map(Math.fround))) return state;
    throw resetDenied(
      `a position is from ${-maxPosition * 2} to ${maxPosition * 2}, an angle from ${-maxAngle * 2} to ${maxAngle * 2}`,
    );
  },
  step(state, action) {
    const next = move(state, action === 1 ? force : -force);
    const [position, , angle] = next;
    const done = position < -maxPosition || position > maxPosition || angle < -maxAngle || angle > maxAngle;
    return { state: next, reward: 1, done };
  },
  observe: (state) => state.map(Math.fround),
  // A pole that leans to the right needs a push to the right.
  plan: ([, , angle, angularVelocity]) => (angle + angularVelocity > 0 ? [1, 0] : [0, 1]),
  render: (state, mode) => (mode === "text" ? toText(state) : mode === "image" ? toSvg(state) : undefined),
});

function move([x, velocity, theta, angularVelocity]: CartState, push: number): CartState {
  const cosine = Math.cos(theta);
  const sine = Math.sin(theta);
  const shared = (push + poleMassLength * (angularVelocity * angularVelocity) * sine) / totalMass;
  const angularAcceleration =
    (gravity * sine - cosine * shared) / (length * (4.0 / 3.0 - (poleMass * (cosine * cosine)) / totalMass));
  const acceleration = shared - (poleMassLength * angularAcceleration * cosine) / totalMass;
  return [
    x + secondsPerStep * velocity,
    velocity + secondsPerStep * acceleration,
    theta + secondsPerStep * angularVelocity,
    angularVelocity + secondsPerStep * angularAcceleration,
  ];
}

function initialState(options: Readonly<Record<string, unknown>>, random: SeededRandom): CartState {
  const { state, low = -0.05, high = 0.05 } = options;
  if (state !== undefined) {
    const isState = Array.isArray(state) && state.length === 4 && state.every((value) => Number.isFinite(value));
    if (!isState) throw resetDenied("state: expected four numbers: position, velocity, angle, angular velocity");
    return [...state] as CartState;
  }
  if (typeof low !== "number" || typeof high !== "number" || low > high)
    throw resetDenied("low and high: expected two numbers, the lower one first");
  const draw = () => random.between(low, high);
  return [draw(), draw(), draw(), draw()];
}

function toText([x, velocity, theta, angularVelocity]: CartState): string {
  const column = Math.round(((x + maxPosition) / (2 * maxPosition)) * 40);
  const track = Array.from({ length: 41 }, (_, at) => (at === column ? "#" : "-")).join("");
  const lean = theta > 0.02 ? "/" : theta < -0.02 ? "\\" : "|";
  const numbers = [x, velocity, theta, angularVelocity].map((value) => value.toFixed(3)).join(" ");
  return `${" ".repeat(Math.min(40, Math.max(0, column)))}${lean}\n${track}\n${numbers}`;
}

function toSvg([x, , theta]: CartState): string {
  const cart = 300 + (x / maxPosition) * 270;
  const tip = { x: cart + Math.sin(theta) * 120, y: 300 - Math.cos(theta) * 120 };
  const at = (value: number) => value.toFixed(1);
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="400">',
    '<rect width="600" height="400" fill="#fff"/><path d="M0 315H600" stroke="#000"/>',
    `<rect x="${at(cart - 25)}" y="300" width="50" height="30" fill="#222"/>`,
    `<path d="M${at(cart)} 300L${at(tip.x)} ${at(tip.y)}" stroke="#ca9865" stroke-width="10" stroke-linecap="round"/>`,
    "</svg>",
  ].join("");
}
