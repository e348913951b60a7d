import { type Context, defineCommand } from "../../command.ts";
import { PartialFailureError } from "../../failure.ts";
import { tokenSetting } from "../../settings.ts";
import { issuerFlag } from "./issuer.ts";

export const authLogout = defineCommand({
  words: ["auth", "logout"],
  summary: "Sign out, and revoke the tokens if the server can",
  positionals: [],
  flags: [issuerFlag, { flag: "all", type: "switch", description: "Sign out everywhere" }],
  examples: [
    { title: "From the configured routing service", argv: ["auth", "logout"] },
    { title: "Everywhere", argv: ["auth", "logout", "--all"] },
  ],
  async run(input, context) {
    const { readAccounts } = await import("../../auth/accounts.ts");
    const { resolveAccountAddress } = await import("../../auth/account-address.ts");
    const { output, host } = context;
    const known = Object.keys(await readAccounts(context));
    const named = input.flags.all === true ? known : [await resolveAccountAddress(input.flags.issuer, context)];
    const done = [];
    for (const address of named) {
      // Forgotten first: whatever the server says, this machine no longer holds it.
      const revoked = await forget(address, context);
      if (revoked !== "unknown") done.push({ address, revoked });
    }
    if (done.length === 0) await output.note("Not signed in");
    for (const { address } of done) await output.note(`Signed out of ${address}`);
    if (output.format !== "table") await output.show(done, { fields: ["address", "revoked"] });
    if (tokenSetting(host)) await output.warn("SVC_TOKEN is still set and overrides every sign-in.");
    return undefined;
  },
});

/** Whether the server revoked the tokens too; many have no way to. */
async function forget(address: string, context: Context): Promise<boolean | "unknown"> {
  const { changeAccount, readAccounts } = await import("../../auth/accounts.ts");
  if (!Object.hasOwn(await readAccounts(context), address)) return "unknown";
  let account: Awaited<ReturnType<typeof changeAccount>>;
  await changeAccount(context, address, (now) => {
    account = now;
    return undefined;
  });
  if (account?.revocation_url === undefined) return false;
  const { oauthClient, oauthPost } = await import("../../auth/oauth-call.ts");
  const { client_id, refresh_token, access_token } = account;
  const token = refresh_token ?? access_token;
  const url = account.revocation_url;
  const client = await oauthClient(context);
  const answer = await oauthPost(client, url, "form", { token, client_id }, context.signal).catch((error: unknown) => {
    if (!context.signal.aborted) return undefined;
    throw new PartialFailureError(error, [
      `The sign-in at ${address} is removed from this machine. It is unknown whether its tokens are revoked`,
    ]);
  });
  // A page says nothing of tokens, whatever its status.
  if (answer?.status === 200 && !/\bhtml\b/.test(answer.headers["content-type"] ?? "")) return true;
  await context.output.warn(`${address} did not confirm that the tokens are revoked.`);
  return false;
}
