import { readVirtualTime } from "../../client/virtual-time.ts";
import type { Context } from "../command.ts";
import type { Account } from "./accounts.ts";
import { createOAuthClient } from "./oauth-call.ts";

const maxWaitMs = 2_000;

/**
 * Returns the time by which the tokens of an account expire. An emulator's tokens expire in virtual time, which is
 * requested. Undefined if the emulator does not respond.
 */
export async function findServerTime(
  context: Context,
  address: string,
  { virtual_time }: Pick<Account, "virtual_time">,
): Promise<number | undefined> {
  const { host, signal } = context;
  if (virtual_time !== true) return host.wall.now();
  const client = await createOAuthClient(context);
  const url = `${address}/.well-known/openid-configuration`;
  const response = await client
    .exchange({ method: "GET", url, headers: {}, body: undefined }, { signal, retries: 0, timeoutMs: maxWaitMs })
    .catch((error: unknown) => {
      if (signal.aborted) throw error;
      return undefined;
    });
  return response && readVirtualTime(response.headers);
}
