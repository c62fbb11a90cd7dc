// Versions of skills, ordered as Semantic Versioning orders them. Missing parts count as 0, and a leading `v` is nothing.

/** At most three numbers, so that a folder called 2026 or 1.2 counts and one called 1.2.3.4 does not. */
const versionText =
  /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:-([0-9A-Za-z.-]{1,40}))?(?:\+[0-9A-Za-z.-]{1,40})?$/;

export function isVersion(text: string): boolean {
  return versionText.test(text);
}

export function isPrerelease(version: string): boolean {
  return versionText.exec(version)?.[4] !== undefined;
}

/** Newest first. */
export function compareVersions(left: string, right: string): number {
  const [, leftMajor, leftMinor, leftPatch, leftLabel] = versionText.exec(left) ?? [];
  const [, rightMajor, rightMinor, rightPatch, rightLabel] = versionText.exec(right) ?? [];
  return (
    Number(rightMajor ?? 0) - Number(leftMajor ?? 0) ||
    Number(rightMinor ?? 0) - Number(leftMinor ?? 0) ||
    Number(rightPatch ?? 0) - Number(leftPatch ?? 0) ||
    -compareLabels(leftLabel, rightLabel)
  );
}

/** A release comes after its candidates: no label is the highest. */
function compareLabels(left: string | undefined, right: string | undefined): number {
  if (left === undefined || right === undefined) return Number(right !== undefined) - Number(left !== undefined);
  const leftParts = left.split(".");
  const rightParts = right.split(".");
  for (let index = 0; index < Math.min(leftParts.length, rightParts.length); index++) {
    const order = compareIdentifiers(leftParts[index] ?? "", rightParts[index] ?? "");
    if (order !== 0) return order;
  }
  return leftParts.length - rightParts.length;
}

function compareIdentifiers(left: string, right: string): number {
  const isLeftNumber = /^\d+$/.test(left);
  const isRightNumber = /^\d+$/.test(right);
  if (isLeftNumber && isRightNumber) return Number(left) - Number(right);
  // Numbers come before words.
  if (isLeftNumber !== isRightNumber) return isLeftNumber ? -1 : 1;
  return left < right ? -1 : left > right ? 1 : 0;
}
