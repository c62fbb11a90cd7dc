// `npm run build`.
import { build } from "./setup/build.mjs";

process.exitCode = await build();
