import { defineCommand } from "../../command.ts";
import { tokenSetting } from "../../settings.ts";
import { issuerFlag } from "./issuer.ts";

export const authToken = defineCommand({
  words: ["auth", "token"],
  summary: "Print a valid access token for other programs",
  description: "Refreshes the token first if it is about to expire. Prints SVC_TOKEN unchanged if it is set.",
  positionals: [],
  flags: [issuerFlag],
  examples: [{ title: "Pass it to a script without showing it", argv: ["auth", "token", "--json=access_token"] }],
  async run(input, context) {
    const { output, host } = context;
    const { resolveAccountAddress } = await import("../../auth/account-address.ts");
    const { requireValidAccount } = await import("../../auth/tokens.ts");
    const given = input.flags.issuer === undefined ? tokenSetting(host)?.value : undefined;
    const { access_token, token_type, expires_at } = given
      ? { access_token: given, token_type: "Bearer", expires_at: undefined }
      : await requireValidAccount(context, await resolveAccountAddress(input.flags.issuer, context));
    if (output.format === "table" && !context.globals.fields) await output.print(access_token);
    else {
      await output.show(
        { access_token, token_type, expires_at: expires_at ?? null },
        { fields: ["access_token", "token_type", "expires_at"] },
      );
    }
    return undefined;
  },
});
