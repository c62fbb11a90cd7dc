// Versions of skills, ordered by Semantic Versioning. Missing parts count as 0, and a leading `v` is ignored.

/** At most three numbers: folders called 2026 and 1.2 are versions, a folder called 1.2.3.4 is not. */
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

/** A release is newer than its prereleases, so a missing label is the highest. */
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
  // Numbers sort before words.
  if (isLeftNumber !== isRightNumber) return isLeftNumber ? -1 : 1;
  return left < right ? -1 : left > right ? 1 : 0;
}
