import { type EmulatorOptions, startEmulator } from "../../../emulator/index.ts";

/** A process with an emulator that shares a store. It prints its role and its results, one per line. */
const options = JSON.parse(process.argv[2] ?? "{}") as EmulatorOptions;
const sendMessage = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);

const emulator = await startEmulator({
  ...options,
  onLeaderChange: (at) => sendMessage({ role: "standby", ...at }),
  onLeadershipRegained: () => sendMessage({ role: "leader" }),
  log: (line) => sendMessage({ log: line }),
});
const { routerUrl, token, clusters } = emulator;
sendMessage({ role: "leader", routerUrl, token, clusters });
process.once("SIGTERM", () => void emulator.close());
await emulator.closed;
sendMessage({ closed: true });
