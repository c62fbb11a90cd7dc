// What the servers of `fanout` have in common: when they push, and what.

/** Ends the text of each push and occurs nowhere else, so a reader can count pushes without parsing them. */
export const mark = "~";

export interface FeedCommand {
  /** For each session. */
  pushes: number;
  /** Length of the text of each push. */
  textLength: number;
}

/** Pushes come in small bursts, as from an agent that works: so many per turn of the event loop. */
const pushesPerTurn = 4;

export async function feed(
  { pushes, textLength }: FeedCommand,
  pushToAll: (text: string) => void | Promise<void>,
): Promise<void> {
  const text = "e".repeat(textLength - 1) + mark;
  for (let count = 1; count <= pushes; count++) {
    await pushToAll(text);
    if (count % pushesPerTurn === 0) await new Promise(setImmediate);
  }
}
