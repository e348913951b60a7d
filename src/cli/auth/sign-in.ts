import { createInterface } from "node:readline";
import { isoSeconds } from "../../base/clock.ts";
import type { Context, Input } from "../command.ts";
import { mayAsk } from "../context.ts";
import { withSpinner } from "../terminal/spinner.ts";
import { type Account, changeAccount, refuseUnwritable } from "./accounts.ts";
import { browserCommand, openBrowser } from "./browser.ts";
import { type Challenge, challengeOf, pollForTokens } from "./device-flow.ts";
import { oauthClient, oauthPost } from "./oauth-call.ts";
import { authServer } from "./server.ts";
import { tokensOf } from "./tokens.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** The whole device login: asks for a code, shows it, waits, and keeps the tokens. */
export async function signIn(
  input: Input,
  client_id: string,
  context: Context,
): Promise<{ address: string; account: Account }> {
  const { host, output, signal } = context;
  await refuseUnwritable(context);
  const client = await oauthClient(context);
  const server = await authServer(input, client, context);
  const scope = input.flags.scope as string | undefined;
  const challenge = challengeOf(
    await oauthPost(client, server.deviceUrl, server.encoding, { client_id, scope }, signal),
  );
  await announce(challenge, context);
  const stopOffering = offerBrowser(challenge, input, context);
  const poll = () =>
    oauthPost(
      client,
      server.tokenUrl,
      server.encoding,
      { grant_type: deviceGrant, device_code: challenge.deviceCode, client_id },
      signal,
    );
  const answer = await withSpinner(context, "Waiting for approval", () =>
    pollForTokens(challenge, poll, host, signal, {
      onSlowDown: (seconds) => void output.note(`Asked to wait longer: polling every ${seconds} s`),
      onTrouble: (reason, seconds) => void output.note(`No usable answer (${reason}); trying again in ${seconds} s`),
    }),
  ).finally(stopOffering);

  const now = host.wall.now();
  const account: Account = {
    client_id,
    ...tokensOf(answer, now),
    signed_in_at: isoSeconds(now),
    refresh_url: server.refreshUrl,
    revocation_url: server.revocationUrl,
  };
  await changeAccount(context, server.address, () => account);
  return { address: server.address, account };
}

/** To a program on standard output, before anything is waited for; to a person on standard error. */
async function announce(challenge: Challenge, { output }: Context): Promise<void> {
  const { userCode, verificationUri, verificationUriComplete, expiresInSeconds, intervalSeconds } = challenge;
  if (output.format !== "table") {
    const shown = {
      event: "approval_needed",
      verification_uri: verificationUri,
      verification_uri_complete: verificationUriComplete,
      user_code: userCode,
      expires_in: expiresInSeconds,
      interval: intervalSeconds,
    };
    return output.raw(`${JSON.stringify(shown)}\n`);
  }
  const { bold } = await output.paint("stderr");
  await output.warn(`Open ${bold(verificationUri)}`);
  await output.warn(`and enter the code ${bold(userCode)}`);
  if (verificationUriComplete) await output.warn(`or open ${verificationUriComplete}`);
  await output.warn(`within ${Math.round(expiresInSeconds / 60)} minutes.`);
}

/** Opens a browser when Enter is pressed, while polling goes on: the code may be approved on a phone instead. */
function offerBrowser(challenge: Challenge, input: Input, context: Context): () => void {
  const { host, output, globals } = context;
  const command = input.flags["no-browser"] === true ? undefined : browserCommand(host);
  if (!command || !mayAsk(host, globals)) return () => {};
  const address = challenge.verificationUriComplete ?? challenge.verificationUri;
  // Not in terminal mode: that would keep Ctrl-C to itself.
  const lines = createInterface({ input: host.stdin, terminal: false });
  lines.once("line", () => {
    void openBrowser(command, address, host).then((opened) =>
      opened ? undefined : output.warn(`No browser could be started; open ${address} yourself.`),
    );
  });
  void output.warn("Press Enter to open it in your browser.");
  return () => lines.close();
}
