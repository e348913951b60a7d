import { createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { beginSignIn, finishSignIn, signIn } from "../../auth/sign-in.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { readVariable, resolveOAuthClientSetting } from "../../connection/resolve-settings.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import { InputRequiredError, UsageError } from "../../process/failure.ts";
import { issuerFlag } from "./tokens.ts";

const authDeviceLogin = defineCommand({
  words: ["auth", "device-login"],
  summary: "Sign in by approving a code in a browser",
  description:
    "Shows an address and a code, waits until the code is approved there (RFC 8628), and saves the tokens in tokens.json next to the profiles, readable only by you. They are sent only to the server that issued them. --json prints two lines: the code to approve, then the outcome.",
  flags: [
    createTextFlag("client-id", "ID", "OAuth client (default: SVC_OAUTH_CLIENT_ID or the profile's)"),
    createTextFlag("scope", "SCOPES", "Scopes to request, separated by spaces"),
    issuerFlag,
    createSwitch("no-browser", "Do not offer to open a browser"),
    createSwitch("no-wait", "Start or check once without waiting; exit 8 while pending"),
    createSwitch("finish", "Finish a sign-in that --no-wait started"),
  ],
  examples: [
    ["Sign in to the emulator of this folder", "--emulator auth device-login --client-id demo-cli"],
    ["Sign in to another server", "auth device-login --issuer https://id.example.com --client-id tool --scope openid"],
    ["Start a sign-in without waiting", "auth device-login --client-id demo-cli --no-wait"],
    ["Check whether the sign-in is approved", "auth device-login --finish --no-wait"],
  ],
  async run(input, context) {
    const { host, output } = context;
    if (readVariable(host, "SVC_TOKEN")) {
      throw new UsageError("SVC_TOKEN is set and overrides every sign-in.", { hint: "Unset it first." });
    }
    const shouldWait = input.flags["no-wait"] !== true;
    const request = async () => ({
      clientId: await resolveClientId(input.flags["client-id"], context),
      issuer: input.flags.issuer,
      scope: input.flags.scope,
      shouldOfferBrowser: input.flags["no-browser"] !== true,
    });
    const next = `After the approval: ${formatNextCommand(["auth", "device-login", "--finish"], context)}`;
    if (!shouldWait && !input.flags.finish) {
      await beginSignIn(await request(), context);
      await output.note(next);
      return "pending";
    }
    const signedIn = input.flags.finish
      ? await finishSignIn(context, shouldWait)
      : await signIn(await request(), context);
    if (signedIn === undefined) {
      await output.note(`The code is not approved yet. ${next}`);
      return "pending";
    }
    const { address, account } = signedIn;
    const { client_id, scope, expires_at } = account;
    if (output.format !== "table") {
      await output.printDocument({ event: "signed_in", address, client_id, scope, expires_at });
    }
    await output.note(
      `Signed in to ${address}${expires_at === undefined ? "" : `; the token expires at ${expires_at}`}`,
    );
    await output.note(`Next: ${formatNextCommand(["auth", "status"], context)}`);
  },
});

async function resolveClientId(givenId: string | undefined, context: Context): Promise<string> {
  const clientId = givenId ?? (await resolveOAuthClientSetting(context))?.value;
  if (clientId) return clientId;
  throw new InputRequiredError("client-id", "--client-id is required", {
    hint: "Or set SVC_OAUTH_CLIENT_ID, or run svc config set oauth_client_id ID. To create a client, run svc auth create-client.",
  });
}

export const commands: readonly Command[] = [authDeviceLogin];
