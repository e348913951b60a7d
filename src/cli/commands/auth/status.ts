import { type Context, command } from "../../command.ts";
import { checkFields } from "../../output/output.ts";
import { tokenSetting } from "../../settings.ts";
import { issuerFlag } from "./issuer.ts";

const fields = ["address", "source", "location", "client_id", "scope", "expires_at", "state", "refreshable", "current"];

export const authStatus = command({
  words: ["auth", "status"],
  summary: "Show where you are signed in",
  description:
    "Names the source and the place of each token, never the token. Exit 4 when there is no usable sign-in for the server that is meant.",
  positionals: [],
  flags: [issuerFlag],
  examples: [
    { title: "All sign-ins", argv: ["auth", "status"] },
    { title: "For a program", argv: ["auth", "status", "--json=address,state,expires_at"] },
  ],
  async run(input, context) {
    const { output } = context;
    if (context.globals.fields) checkFields(context.globals.fields, fields);
    const rows = await signIns(input.flags.issuer, context);
    await output.show(rows, { fields, columns: ["address", "state", "expires_at", "source"], none: "Not signed in" });
    const usable = rows.some(({ current, state }) => current && state !== "expired");
    return usable ? undefined : "forbidden";
  },
});

async function signIns(issuer: string | undefined, context: Context) {
  const { readAccounts, tokensPath } = await import("../../auth/accounts.ts");
  const { hasExpired } = await import("../../auth/tokens.ts");
  const { accountAddress } = await import("../../auth/server.ts");
  const { host } = context;
  const accounts = await readAccounts(context);
  const names = Object.keys(accounts);
  // Without a target the only account is the one that is meant.
  const chosen = await accountAddress(issuer, context).catch((error: unknown) => {
    if (issuer !== undefined) throw error;
    return names.length === 1 ? names[0] : undefined;
  });
  const given = tokenSetting(host)
    ? [
        {
          address: chosen ?? "any",
          source: "SVC_TOKEN",
          location: "environment",
          client_id: null,
          scope: null,
          expires_at: null,
          state: "given",
          refreshable: false,
          current: true,
        },
      ]
    : [];
  const stored = Object.entries(accounts).map(([address, account]) => {
    const refreshable = account.refresh_token !== undefined;
    const isOver = hasExpired(account, host.wall.now());
    return {
      address,
      source: "sign-in",
      location: tokensPath(context),
      client_id: account.client_id,
      scope: account.scope ?? null,
      expires_at: account.expires_at ?? null,
      state: isOver ? (refreshable ? "to be refreshed" : "expired") : "good",
      refreshable,
      current: given.length === 0 && address === chosen,
    };
  });
  return [...given, ...stored];
}
