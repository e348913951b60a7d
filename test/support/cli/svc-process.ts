// `svc` as a process of its own, from the sources: what bin/svc.js does with the bundle.
import { createProcessHost, main } from "../../../src/cli/main.ts";

process.exitCode = await main(process.argv.slice(2), createProcessHost("0.0.0-test"));
