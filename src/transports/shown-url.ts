/** An address as messages show it: without the name and password that may stand in it. */
export function toShownUrl(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/@]*@/i, "$1");
}
