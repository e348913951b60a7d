import { isForeignState } from "../../../files/origin-marker.ts";
import type { Context, ServiceTarget } from "../../command.ts";
import { type EmulatorAccess, isSameEmulator, readEmulatorAccess } from "./emulator-access.ts";
import { createEmulatorConnection, reportUnusedVariables, selectEnvironmentKey } from "./emulator-variables.ts";
import { toStartError } from "./ended-emulator.ts";
import {
  createUntrustedStateError,
  makeStateFolder,
  readRunFile,
  reportParentState,
  resolveRunFile,
  resolveStateFile,
} from "./run-file.ts";

/**
 * Returns the emulator of `--emulator`. It is started in this process on free ports and closed at the end, unless one
 * already runs on the same state. Only its own credentials are used, because those of a real service must not be sent
 * to it.
 */
export async function createEmbeddedTarget(
  { host, output, onEnd, forceSignal }: Pick<Context, "host" | "output" | "onEnd" | "forceSignal">,
  file: string | undefined,
): Promise<ServiceTarget> {
  const path = resolveStateFile(host, file);
  await reportParentState(host, output, path, file);
  if (file === undefined && (await isForeignState(path)))
    throw createUntrustedStateError(path, "Use it with svc emulator start --detach --trust-state.");
  const removeStateFolder = await makeStateFolder(path);
  const { startEmulator } = await import("../../../../emulator/index.ts");
  try {
    const emulator = await startEmulator({ port: 0, file: path, otel: host.env });
    onEnd(() => emulator.close({ signal: forceSignal }));
    return await createEmulatorTarget(emulator, "--emulator", { host, output });
  } catch (error) {
    await removeStateFolder();
    const running =
      (error as Error).name === "StateLockedError" ? await readRunFile(await resolveRunFile(path)) : undefined;
    if (!running || !(await isSameEmulator(running))) throw toStartError(error as Error, { file: path });
    return createEmulatorTarget(await readEmulatorAccess(running), "the emulator with this state", { host, output });
  }
}

async function createEmulatorTarget(
  emulator: EmulatorAccess,
  origin: string,
  { host, output }: Pick<Context, "host" | "output">,
): Promise<ServiceTarget> {
  const { access, key, unused } = await selectEnvironmentKey(emulator, host);
  await reportUnusedVariables(unused, output);
  const { baseUrls, credentials } = createEmulatorConnection(access);
  return { baseUrls, origin, credentials: { ...credentials, ...key } };
}
