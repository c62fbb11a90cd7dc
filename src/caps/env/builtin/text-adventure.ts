// A small adventure in text: fetch the gem from the cellar and carry it to the garden. The cellar is dark and locked.
// For agents that read and write words.
import { defineEnv } from "../define-env.ts";
import { unknownAction } from "../problems.ts";
import { dict } from "../spaces/composite.ts";
import { choice } from "../spaces/discrete.ts";
import { text } from "../spaces/text.ts";

const places = ["garden", "hall", "kitchen", "cellar"] as const;
type Room = (typeof places)[number];
type Item = "key" | "lamp" | "gem";

interface PlaceFacts {
  look: string;
  exits: Readonly<Record<string, Room>>;
  /** Position in the picture. */
  at: readonly [x: number, y: number];
}

const world: Readonly<Record<Room, PlaceFacts>> = {
  garden: { look: "A quiet garden. A door leads north into a house.", exits: { north: "hall" }, at: [110, 110] },
  hall: {
    look: "A hall. The garden is south, a kitchen east, and stairs lead down to a cellar door.",
    exits: { south: "garden", east: "kitchen", down: "cellar" },
    at: [110, 60],
  },
  kitchen: { look: "A kitchen that smells of bread. The hall is west.", exits: { west: "hall" }, at: [190, 60] },
  cellar: { look: "A cellar, cold and dark. The hall is up.", exits: { up: "hall" }, at: [110, 10] },
};

// A type and not an interface: it must be JSON.
type AdventureState = {
  place: Room;
  /** The place of each thing, or `hands` if the player carries it. */
  items: Record<Item, Room | "hands">;
  isUnlocked: boolean;
  said: string;
};

const start: AdventureState = {
  place: "garden",
  items: { key: "kitchen", lamp: "hall", gem: "cellar" },
  isUnlocked: false,
  said: "You come home to look for a gem. Bring it to the garden.",
};

export const textAdventure = defineEnv({
  name: "text_adventure",
  description:
    "Fetch the gem from the cellar and carry it to the garden, in words: `go north`, `take lamp`, `unlock cellar`, `look`.",
  actionSpace: text({ minLength: 1, maxLength: 200 }),
  observationSpace: dict({
    text: text({ maxLength: 2000 }),
    place: choice(places),
    inventory: text({ maxLength: 200 }),
  }),
  maxSteps: 100,
  reset: () => start,
  step(state, command) {
    const words = command.trim().toLowerCase().split(/\s+/).join(" ");
    const allowed = commandsOf(state);
    if (!allowed.includes(words))
      throw unknownAction(`"${words}" makes no sense here; try ${allowed.join(", ")}`, allowed);
    const next = obey(state, words);
    const isWon = next.place === "garden" && next.items.gem === "hands";
    const foundGem = next.items.gem === "hands" && state.items.gem !== "hands";
    return { state: next, reward: isWon ? 1 : foundGem ? 0.5 : -0.01, done: isWon };
  },
  observe: (state) => ({ text: describe(state), place: state.place, inventory: held(state).join(", ") }),
  plan: bestFirst,
  render: (state, mode) => (mode === "text" ? describe(state) : mode === "image" ? toSvg(state) : undefined),
});

function held({ items }: AdventureState): Item[] {
  return (Object.keys(items) as Item[]).filter((item) => items[item] === "hands");
}

function isDark({ place, items }: AdventureState): boolean {
  return place === "cellar" && items.lamp !== "hands" && items.lamp !== "cellar";
}

function lyingHere(state: AdventureState): Item[] {
  if (isDark(state)) return [];
  return (Object.keys(state.items) as Item[]).filter((item) => state.items[item] === state.place);
}

function commandsOf(state: AdventureState): string[] {
  const { place, isUnlocked, items } = state;
  const exits = Object.entries(world[place].exits)
    .filter(([, to]) => to !== "cellar" || isUnlocked)
    .map(([direction]) => `go ${direction}`);
  const unlock = place === "hall" && !isUnlocked && items.key === "hands" ? ["unlock cellar"] : [];
  return [
    ...lyingHere(state).map((item) => `take ${item}`),
    ...unlock,
    ...exits,
    ...held(state).map((item) => `drop ${item}`),
    "look",
  ];
}

function obey(state: AdventureState, words: string): AdventureState {
  const [verb, noun = ""] = words.split(" ");
  const item = noun as Item;
  switch (verb) {
    case "go":
      return { ...state, place: world[state.place].exits[noun] as Room, said: "" };
    case "take":
      return { ...state, items: { ...state.items, [item]: "hands" }, said: `You take the ${noun}.` };
    case "drop":
      return { ...state, items: { ...state.items, [item]: state.place }, said: `You put the ${noun} down.` };
    case "unlock":
      return { ...state, isUnlocked: true, said: "The cellar door opens." };
    default:
      return { ...state, said: "" };
  }
}

function describe(state: AdventureState): string {
  const here = lyingHere(state).map((item) => `There is a ${item} here.`);
  const dark = isDark(state) ? ["It is too dark to see anything."] : [];
  const locked = state.place === "hall" && !state.isUnlocked ? ["The cellar door is locked."] : [];
  return [state.said, world[state.place].look, ...locked, ...dark, ...here].filter((line) => line !== "").join(" ");
}

/** All possible commands. The commands that lead to the gem and back come first. */
function bestFirst(state: AdventureState): string[] {
  const towards = `go ${directionTo(state.place, nextGoal(state))}`;
  const useful = new Set(["take gem", "take key", "take lamp", "unlock cellar"]);
  const isUseful = (command: string) => useful.has(command) || command === towards;
  const isUseless = (command: string) => command.startsWith("drop") || command === "look";
  const rank = (command: string) => (isUseful(command) ? 0 : isUseless(command) ? 2 : 1);
  return commandsOf(state).sort((one, other) => rank(one) - rank(other));
}

function nextGoal({ items, isUnlocked }: AdventureState): Room {
  const placeOf = (item: Item): Room | undefined => (items[item] === "hands" ? undefined : items[item]);
  if (items.gem === "hands") return "garden";
  return (
    placeOf("lamp") ?? (isUnlocked ? undefined : placeOf("key")) ?? (isUnlocked ? (placeOf("gem") ?? "garden") : "hall")
  );
}

/** The first step of the shortest way. */
function directionTo(from: Room, to: Room): string {
  const open: { place: Room; first: string }[] = [{ place: from, first: "" }];
  const seen = new Set<Room>([from]);
  for (let here = open.shift(); here !== undefined; here = open.shift()) {
    for (const [direction, place] of Object.entries(world[here.place].exits)) {
      if (seen.has(place)) continue;
      seen.add(place);
      const first = here.first === "" ? direction : here.first;
      if (place === to) return first;
      open.push({ place, first });
    }
  }
  return "";
}

function toSvg(state: AdventureState): string {
  const rooms = places.map((place) => {
    const [x, y] = world[place].at;
    const fill = place === state.place ? "#ffd23f" : "#eee";
    return `<rect x="${x - 35}" y="${y}" width="70" height="40" fill="${fill}" stroke="#444"/><text x="${x}" y="${y + 24}" font-size="12" text-anchor="middle">${place}</text>`;
  });
  const carried = held(state).join(", ");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="260" height="180" font-family="sans-serif">${rooms.join("")}<text x="10" y="172" font-size="12">${carried}</text></svg>`;
}
