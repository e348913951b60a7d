import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Account } from "../../../src/cli/auth/accounts.ts";

/** Opens the sign-ins that are stored in a configuration folder. */
export function openSignInStore(folder: string) {
  const path = join(folder, "tokens.json");
  const accounts = async (): Promise<Record<string, Account>> => {
    const text = await readFile(path, "utf8").catch(() => '{"accounts":{}}');
    return JSON.parse(text).accounts;
  };
  return {
    accounts,
    /** Stores the result of a device login with these changes. */
    async keep(address: string, changes: Partial<Account>): Promise<void> {
      const account: Account = {
        client_id: "cli",
        access_token: "at",
        token_type: "Bearer",
        signed_in_at: "2031-01-01T00:00:00Z",
        refresh_url: `${address}/api/v1/oauth/token/`,
        ...changes,
      };
      await writeFile(path, JSON.stringify({ accounts: { ...(await accounts()), [address]: account } }), {
        mode: 0o600,
      });
    },
  };
}
