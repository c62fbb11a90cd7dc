// Prints a single line on an old Node instead of a long stack trace. Imported first: later files may not even load
// there.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`A2E needs Node 20.19 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}
