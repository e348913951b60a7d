import type { Context } from "../command.ts";
import { CommandFailedError, UsageError } from "../failure.ts";
import { readAccounts } from "./accounts.ts";
import { resolveServerAddress } from "./server.ts";

/** The account that a command means: --issuer, the routing service of the target, or the only one there is. */
export async function resolveAccountAddress(issuer: string | undefined, context: Context): Promise<string> {
  if (issuer !== undefined) return resolveServerAddress(issuer, context);
  const names = Object.keys(await readAccounts(context));
  try {
    return await resolveServerAddress(undefined, context);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof CommandFailedError)) throw error;
    if (names.length === 1) return names[0]!;
    if (names.length === 0) {
      throw new CommandFailedError("forbidden", "signed_out", "Not signed in.", { next: ["auth", "device-login"] });
    }
    throw new UsageError("There are several sign-ins, and none is selected.", {
      hint: `Select one with --issuer or --base-url: ${names.join(", ")}`,
    });
  }
}
