import type { Context } from "../command.ts";
import { CommandFailedError } from "../process/failure.ts";
import { readEnvironmentEmulator } from "./settings.ts";

/** Whether the router that is asked is an emulator with a control plane that may be asked, too. */
export async function isEmulator(context: Context, file?: string): Promise<boolean> {
  const { globals, host } = context;
  if (globals.emulator) return true;
  // The token of an emulator must not be sent to an address that is not known to be its own.
  if (globals.baseUrl !== undefined)
    return originOf(readEnvironmentEmulator(host)?.url.value) === originOf(globals.baseUrl);
  const { router } = (await context.target("router")).baseUrls;
  try {
    const { baseUrls, credentials } = await context.target("emulator", file);
    return credentials.controlToken !== undefined && originOf(baseUrls.emulator) === originOf(router);
  } catch (error) {
    if (error instanceof CommandFailedError && file === undefined) return false;
    throw error;
  }
}

const originOf = (url: string | undefined): string | undefined =>
  url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;
