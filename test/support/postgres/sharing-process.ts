import { type EmulatorOptions, startEmulator } from "../../../emulator/index.ts";

/** A process with an emulator that shares a store. It prints its role and its results, one per line. */
const options = JSON.parse(process.argv[2] ?? "{}") as EmulatorOptions;
const tell = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`);

const emulator = await startEmulator({
  ...options,
  onLeaderChange: (at) => tell({ role: "standby", ...at }),
  onLeadershipRegained: () => tell({ role: "leader" }),
  log: (line) => tell({ log: line }),
});
const { routerUrl, token, clusters } = emulator;
tell({ role: "leader", routerUrl, token, clusters });
process.once("SIGTERM", () => void emulator.close());
await emulator.closed;
tell({ closed: true });
