// Places the nodes of a graph: in columns by the step at which they can run, with as few crossings as a few sweeps
// find, and each as near to the height of its neighbours as the others in its column allow.

export interface GraphToLayOut {
  readonly levels: readonly (readonly number[])[];
  readonly edges: readonly { readonly from: number; readonly to: number }[];
}

export interface Point {
  x: number;
  y: number;
}

export interface Layout {
  /** By node: the middle of its box. */
  readonly places: ReadonlyMap<number, Point>;
  /** By edge, in the order in which they came: the points to lead it through, ends included. */
  readonly ways: readonly (readonly Point[])[];
  readonly width: number;
  readonly height: number;
}

export interface LayoutSizes {
  readonly nodeWidth: number;
  readonly nodeHeight: number;
  readonly columnGap: number;
  readonly rowGap: number;
  readonly margin: number;
}

/** A node, or the point at which an edge crosses a column that it passes. */
interface Slot {
  readonly node: number | undefined;
  readonly column: number;
  readonly before: Slot[];
  readonly after: Slot[];
  y: number;
}

const sweeps = 6;

export function layOut({ levels, edges }: GraphToLayOut, sizes: LayoutSizes): Layout {
  const { nodeWidth, nodeHeight, columnGap, margin } = sizes;
  const columns: Slot[][] = levels.map(() => []);
  const slots = new Map<number, Slot>();
  levels.forEach((level, column) => {
    for (const node of level) {
      const slot: Slot = { node, column, before: [], after: [], y: 0 };
      slots.set(node, slot);
      columns[column]?.push(slot);
    }
  });
  const routes = edges.map(({ from, to }) => addRoute(slots.get(from) as Slot, slots.get(to) as Slot, columns));
  for (let sweep = 0; sweep < sweeps; sweep++) orderColumns(columns, sweep % 2 === 0);
  const height = placeRows(columns, sizes);
  const xOf = (column: number) => margin + nodeWidth / 2 + column * (nodeWidth + columnGap);
  const places = new Map([...slots].map(([node, { column, y }]) => [node, { x: xOf(column), y }] as const));
  const ways = routes.map((route) =>
    route.flatMap(({ column, y, node }, index): Point[] => {
      const [left, right] = [
        { x: xOf(column) - nodeWidth / 2, y },
        { x: xOf(column) + nodeWidth / 2, y },
      ];
      // An edge ends at the side of a box, and crosses a column horizontally.
      return node === undefined ? [left, right] : index === 0 ? [right] : [left];
    }),
  );
  const width = 2 * margin + columns.length * (nodeWidth + columnGap) - columnGap;
  return {
    places,
    ways,
    width: Math.max(width, 2 * margin + nodeWidth),
    height: Math.max(height, nodeHeight + 2 * margin),
  };
}

function addRoute(from: Slot, to: Slot, columns: Slot[][]): Slot[] {
  const route = [from];
  for (let column = from.column + 1; column < to.column; column++) {
    const passing: Slot = { node: undefined, column, before: [], after: [], y: 0 };
    columns[column]?.push(passing);
    route.push(passing);
  }
  route.push(to);
  for (let index = 1; index < route.length; index++) {
    const [one, other] = [route[index - 1] as Slot, route[index] as Slot];
    one.after.push(other);
    other.before.push(one);
  }
  return route;
}

/** Sorts the slots by the average position of their neighbours in the previous (or next) column. */
function orderColumns(columns: Slot[][], isForward: boolean): void {
  const order = isForward ? columns : columns.toReversed();
  columns.forEach(rank);
  for (const column of order) {
    const ranks = new Map(
      column.map(
        (slot) => [slot, average((isForward ? slot.before : slot.after).map(({ y }) => y)) ?? slot.y] as const,
      ),
    );
    column.sort((one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0));
    rank(column);
  }
}

function rank(column: readonly Slot[]): void {
  column.forEach((slot, index) => {
    slot.y = index;
  });
}

/** Heights in pixels; returns that of the whole. */
function placeRows(columns: Slot[][], { nodeHeight, rowGap, margin }: LayoutSizes): number {
  const gapOf = (one: Slot, other: Slot) => (heightOf(one, nodeHeight) + heightOf(other, nodeHeight)) / 2 + rowGap;
  for (const column of columns) {
    let y = 0;
    column.forEach((slot, index) => {
      const above = column[index - 1];
      if (above !== undefined) y += gapOf(above, slot);
      slot.y = y;
    });
    const middle = y / 2;
    for (const slot of column) slot.y -= middle;
  }
  for (let sweep = 0; sweep < sweeps; sweep++) {
    for (const column of sweep % 2 === 0 ? columns : columns.toReversed()) straighten(column, gapOf);
  }
  const all = columns.flat();
  // Without a spread: a large graph has more slots than a call can have arguments.
  const top = all.reduce((least, { y }) => Math.min(least, y), 0) - nodeHeight / 2;
  const bottom = all.reduce((most, { y }) => Math.max(most, y), 0) + nodeHeight / 2;
  for (const slot of all) slot.y += margin - top;
  return bottom - top + 2 * margin;
}

function heightOf({ node }: Slot, nodeHeight: number): number {
  return node === undefined ? 4 : nodeHeight;
}

/** Moves slots towards their neighbours; slots that would touch move together. */
function straighten(column: Slot[], gapOf: (one: Slot, other: Slot) => number): void {
  const blocks: { slots: Slot[]; offsets: number[]; wish: number }[] = [];
  for (const slot of column) {
    const wish = average([...slot.before, ...slot.after].map(({ y }) => y)) ?? slot.y;
    let block = { slots: [slot], offsets: [0], wish };
    for (let above = blocks.at(-1); above !== undefined; above = blocks.at(-1)) {
      const lastOffset = above.offsets.at(-1) ?? 0;
      const gap = gapOf(above.slots.at(-1) as Slot, block.slots[0] as Slot);
      if (above.wish + lastOffset + gap <= block.wish) break;
      blocks.pop();
      const shift = lastOffset + gap;
      const [many, few] = [above.slots.length, block.slots.length];
      above.wish = (above.wish * many + (block.wish - shift) * few) / (many + few);
      // The upper block absorbs the other, since it is mostly the larger.
      block.slots.forEach((taken, index) => {
        above.slots.push(taken);
        above.offsets.push((block.offsets[index] ?? 0) + shift);
      });
      block = above;
    }
    blocks.push(block);
  }
  for (const { slots, offsets, wish } of blocks) {
    slots.forEach((slot, index) => {
      slot.y = wish + (offsets[index] ?? 0);
    });
  }
}

function average(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}
