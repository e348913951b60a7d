// `svc` as a process of the sources. bin/svc.js does the same with the bundle.
import { createProcessHost, main } from "../../../src/cli/main.ts";

process.exitCode = await main(process.argv.slice(2), createProcessHost());
