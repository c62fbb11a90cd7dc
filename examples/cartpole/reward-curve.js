// @ts-check
// A line of rewards as a picture.

/**
 * @param {readonly number[]} rewards One per generation.
 * @param {number} best The most that can be reached.
 */
export function toSvg(rewards, best) {
  const [width, height, margin] = [640, 320, 40];
  const x = (/** @type {number} */ index) => margin + (index / Math.max(1, rewards.length - 1)) * (width - 2 * margin);
  const y = (/** @type {number} */ reward) => height - margin - (reward / best) * (height - 2 * margin);
  const points = rewards.map((reward, index) => `${x(index).toFixed(1)},${y(reward).toFixed(1)}`).join(" ");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12">
  <rect width="100%" height="100%" fill="#fff"/>
  <path d="M${margin} ${margin}V${height - margin}H${width - margin}" fill="none" stroke="#444"/>
  <text x="${margin}" y="${margin - 10}">mean reward (of ${best})</text>
  <text x="${width - margin}" y="${height - 12}" text-anchor="end">generation</text>
  <polyline points="${points}" fill="none" stroke="#1d4e79" stroke-width="2"/>
</svg>
`;
}
