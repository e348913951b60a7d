import { type Context, defineCommand } from "../../command.ts";
import { formatNextCommand } from "../../next-command.ts";
import { checkFields } from "../../output/output.ts";
import { tokenSetting } from "../../settings.ts";
import { issuerFlag } from "./issuer.ts";

const fields = ["address", "source", "location", "client_id", "scope", "expires_at", "state", "refreshable", "current"];

export const authStatus = defineCommand({
  words: ["auth", "status"],
  summary: "Show where you are signed in",
  description:
    "Shows the source and location of each token, never the token. Exits 4 if there is no valid sign-in for the server.",
  positionals: [],
  flags: [issuerFlag],
  examples: [
    { title: "All sign-ins", argv: ["auth", "status"] },
    { title: "For a program", argv: ["auth", "status", "--json=address,state,expires_at"] },
  ],
  async run(input, context) {
    const { output } = context;
    if (context.globals.fields) checkFields(context.globals.fields, fields);
    const { rows, chosen } = await signIns(input.flags.issuer, context);
    const columns = ["address", "state", "current", "expires_at", "source"];
    await output.show(rows, { fields, columns, none: "Not signed in" });
    const used = rows.find(({ current }) => current);
    if (used && used.state !== "expired") return undefined;
    if (rows.length > 0) await output.note(lacking(used?.address, chosen, context));
    return "forbidden";
  },
});

/** Why none of the sign-ins that are kept can be used, and what to do. */
function lacking(ended: string | undefined, chosen: string | undefined, context: Context): string {
  const again = formatNextCommand(["auth", "device-login"], context);
  if (ended !== undefined) return `The sign-in at ${ended} has expired. Next: ${again}`;
  if (chosen !== undefined) return `Not signed in at ${chosen}, the server in use. Next: ${again}`;
  return "No server is selected. Use --issuer, --base-url or --profile";
}

async function signIns(issuer: string | undefined, context: Context) {
  const { readAccounts, tokensPath } = await import("../../auth/accounts.ts");
  const { hasExpired } = await import("../../auth/tokens.ts");
  const { resolveServerAddress } = await import("../../auth/server.ts");
  const { host } = context;
  const accounts = await readAccounts(context);
  const names = Object.keys(accounts);
  // Without a target the only account is the one that is meant.
  const chosen = await resolveServerAddress(issuer, context).catch((error: unknown) => {
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
  return { rows: [...given, ...stored], chosen };
}
