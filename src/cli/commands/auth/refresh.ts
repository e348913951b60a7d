import { defineCommand } from "../../command.ts";
import { issuerFlag } from "./issuer.ts";

export const authRefresh = defineCommand({
  words: ["auth", "refresh"],
  summary: "Exchange the refresh token for new tokens now",
  description:
    "Commands do this automatically when a token is about to expire. Concurrent commands take turns, so a refresh token is never used twice.",
  positionals: [],
  flags: [issuerFlag],
  examples: [{ title: "Before a long job", argv: ["auth", "refresh"] }],
  async run(input, context) {
    const { resolveAccountAddress } = await import("../../auth/account-address.ts");
    const { refreshAccount } = await import("../../auth/tokens.ts");
    const address = await resolveAccountAddress(input.flags.issuer, context);
    const { expires_at, scope, refreshed_at } = await refreshAccount(context, address, true);
    const shown = { address, expires_at: expires_at ?? null, scope: scope ?? null, refreshed_at: refreshed_at ?? null };
    await context.output.show(shown, { fields: Object.keys(shown) });
    return undefined;
  },
});
