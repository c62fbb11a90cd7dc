/**
 * Whether all items fit a pattern whose stars take any number of them. Only the last star is ever tried again, so the time
 * grows at worst with items times steps: no pattern can explode. A text is a list of its characters.
 */
export function matchesSteps<Item, Step>(
  items: ArrayLike<Item>,
  steps: ArrayLike<Step>,
  isStar: (step: Step) => boolean,
  matches: (step: Step, item: Item) => boolean,
): boolean {
  let item = 0;
  let step = 0;
  let starStep = -1;
  let starItem = 0;
  while (item < items.length) {
    const current = step < steps.length ? (steps[step] as Step) : undefined;
    if (current !== undefined && isStar(current)) {
      starStep = step++;
      starItem = item;
    } else if (current !== undefined && matches(current, items[item] as Item)) {
      item++;
      step++;
    } else if (starStep >= 0) {
      step = starStep + 1;
      item = ++starItem;
    } else return false;
  }
  while (step < steps.length && isStar(steps[step] as Step)) step++;
  return step === steps.length;
}
