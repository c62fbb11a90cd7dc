// Says in one line what an old Node would say in thirty. Imported first: the files after it may not even load there.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`A2E needs Node 20.19 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}
