// Arrows point down: protocol · proofs ← rights · tokens ← plugin ← framing · machinery ← audit · credentials · host · client ← durability · recording · isolation · config ← caps · stores ·
// sandboxes · transports · server · telemetry ← federation ← compose ← testing ← conformance ← cli. Type-only imports count.

/** The folders of src from the bottom up, each with the folders that it may import besides itself. */
const below = {
  protocol: [],
  proofs: [],
  framing: ["protocol"],
  rights: ["protocol"],
  plugin: ["protocol", "rights"],
  machinery: ["protocol", "plugin"],
  tokens: ["protocol"],
  credentials: ["protocol", "plugin", "machinery", "tokens"],
  quotas: ["protocol", "rights", "plugin"],
  host: ["protocol", "rights", "plugin", "machinery/pacing", "machinery/state"],
  client: ["protocol", "proofs"],
  audit: ["protocol", "proofs", "plugin", "machinery"],
  durability: ["protocol", "plugin", "machinery/state", "host"],
  recording: ["protocol", "rights", "plugin", "machinery/pacing", "machinery/state", "host", "durability"],
  isolation: ["protocol", "plugin", "machinery"],
  config: ["protocol", "rights", "plugin", "machinery", "isolation"],
  stores: ["protocol", "plugin", "machinery", "audit", "host", "durability", "recording"],
  transports: ["protocol", "framing", "host"],
  sandboxes: ["protocol", "plugin", "machinery", "config"],
  server: ["protocol", "framing", "plugin", "machinery/pacing", "host"],
  telemetry: ["protocol", "host"],
  federation: ["protocol", "framing", "plugin", "machinery", "host", "client", "caps", "transports"],
};

const parts = Object.keys(below);
below.compose = [...parts, "caps"];
below.testing = [...below.compose, "compose"];
below.conformance = [...below.testing, "testing"];
below.cli = [...below.conformance, "conformance"];

/** Tests may reach anywhere: they put real parts together. */
const tests = "\\.(test|suite)\\.ts$";

const layerRules = Object.entries(below).map(([folder, allowed]) => ({
  name: `${folder}-imports-only-below`,
  comment: `src/${folder} may import ${[folder, ...allowed].join(", ")}.`,
  severity: "error",
  from: { path: `^src/${folder}/`, pathNot: tests },
  to: { path: "^src/", pathNot: `^src/(${[folder, ...allowed].join("|")})/` },
}));

module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: "capabilities-stand-alone",
      comment:
        "A capability is a plugin that anyone could have written: it imports the plugin API, never the kernel. It uses another capability through calls or the tool catalogue.",
      severity: "error",
      from: { path: "^src/caps/([^/]+)/", pathNot: tests },
      to: { path: "^src/", pathNot: "^src/(protocol|framing|plugin|machinery|caps/$1)/" },
    },
    {
      name: "runs-in-a-browser",
      comment:
        "The protocol, proofs, the client, tokens and the tables are bundled for browsers: no built-in modules of Node.",
      severity: "error",
      from: {
        path: "^src/(protocol/|proofs/|client/|tokens/|caps/[^/]+/protocol\\.ts$|caps/tables\\.generated\\.ts$)",
        pathNot: tests,
      },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "tables-know-only-the-protocol",
      comment: "A table is data that other languages are generated from.",
      severity: "error",
      from: { path: "^src/caps/([^/]+)/protocol\\.ts$" },
      to: { path: "^src/", pathNot: "^src/protocol/" },
    },
    {
      name: "entries-are-the-top",
      comment: "Public doors are for users of the package; inside, import the file itself.",
      severity: "error",
      from: { path: "^src/", pathNot: `^src/entries/|${tests}` },
      to: { path: "^src/(entries/|caps/[^/]+/index\\.ts$)" },
    },
    {
      name: "examples-use-the-package",
      comment: "An example uses only what a user of the package can use, so it imports a2e by name.",
      severity: "error",
      from: { path: "^examples/" },
      to: { path: "^src/", pathNot: "^src/(entries/|caps/[^/]+/index\\.ts$)" },
    },
    {
      name: "no-test-in-the-product",
      severity: "error",
      from: { path: "^src/", pathNot: tests },
      to: { path: tests },
    },
    {
      name: "src-stands-alone",
      severity: "error",
      from: { path: "^src/", pathNot: tests },
      to: { path: "^(bench|examples|scripts|conformance|docs)/" },
    },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "no-unlisted-package",
      comment: "Every package that the product imports is in dependencies, not merely installed.",
      severity: "error",
      from: { path: "^src/", pathNot: tests },
      // A peer dependency is installed for tests as well.
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown", "unknown", "undetermined"],
        dependencyTypesNot: ["npm-peer"],
      },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(dist|vectors)/" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "default"] },
  },
};
