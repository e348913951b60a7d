import type { Fail } from "../../../src/api/failures.ts";
import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { isCaptchaTester, readConnectedApps } from "../../domain/apps.ts";
import { emails, sendEmail } from "../../domain/emails.ts";
import { buildAuthorizationUrl, redeemProviderCode } from "../../domain/provider.ts";
import { inTransaction } from "../../http/handler.ts";
import type { Transaction, View } from "../../store/port.ts";
import { evictOldest } from "../../store/rows.ts";
import type { RouterCall, RouterHandlers } from "../context.ts";
import {
  completeTrialSignup,
  findPendingSignup,
  isEmailTaken,
  type TrialSignup,
  trialSignups,
  trialStates,
} from "./signups.ts";

export const trialHandlers = {
  "trial.signup": inTransaction((tx, { body: { email, captcha } }, call) => {
    checkCaptcha(tx, call, captcha);
    return toSignupRecord(getOrCreateSignup(tx, call, { email, oauth_provider: null, account_details: null }));
  }),

  "trial.complete": completeTrialSignup,

  "trial.oauth": inTransaction((tx, { query: { provider = "ProviderA" } }, { ids, settings }) => {
    const state = `trial_${ids.token(24)}`;
    tx.put(trialStates, { state, provider });
    evictOldest(tx, trialStates);
    return { authorization_url: buildAuthorizationUrl(settings.publicUrl, { flow: "trial", provider, state }), state };
  }),

  "trial.oauth-callback": inTransaction((tx, { query }, call) => {
    const { state, provider } = tx.get(trialStates, query.state) ?? call.fail("unknown-state");
    const { id: email, name } = redeemProviderCode(tx, provider, query.code) ?? call.fail("unknown-provider-code");
    tx.delete(trialStates, state);
    const account_details = { provider, email, name };
    return toSignupRecord(getOrCreateSignup(tx, call, { email, oauth_provider: provider, account_details }));
  }),
} satisfies RouterHandlers;

/**
 * Checks a captcha. Addresses on the test list pass with any non-empty value except `fail`. All other addresses require
 * the captcha of the seed (DECISIONS.md, R23).
 */
function checkCaptcha(view: View, call: RouterCall<"captcha-failed">, captchaAnswer: string): void {
  const apps = readConnectedApps(view);
  const isSolved = isCaptchaTester(apps, call.request)
    ? captchaAnswer !== "" && captchaAnswer !== "fail"
    : isEqualInConstantTime(captchaAnswer, apps.captcha.captcha_token);
  if (!isSolved) call.fail("captcha-failed");
}

/** Returns the pending signup of an address, and creates one if none exists. */
function getOrCreateSignup(
  tx: Transaction,
  context: Pick<RouterCall, "ids" | "clock" | "hasAccount"> & { readonly fail: Fail<"account-exists"> },
  signup: Pick<TrialSignup, "email" | "oauth_provider" | "account_details">,
): TrialSignup {
  const existing = findPendingSignup(tx, signup.email);
  if (isEmailTaken(tx, context, existing ?? signup)) context.fail("account-exists");
  const pendingSignup = existing
    ? // A user who returns from a provider is identified more reliably than before.
      { ...existing, ...(signup.oauth_provider && signup), email: existing.email }
    : {
        id: tx.next("trial_signup"),
        token: `trl_${context.ids.token(24)}`,
        ...signup,
        claimed: false,
        workspace: null,
        answers: null,
      };
  tx.put(trialSignups, pendingSignup);
  if (!existing && !signup.oauth_provider) {
    // The user continues with the token. The pages of the emulator do not require it.
    const { email, token } = pendingSignup;
    sendEmail(tx, { purpose: "trial", recipient: email.trim(), token, sent_at: context.clock.now() });
    evictOldest(tx, emails, { slice: { by: "purpose", equals: "trial" } });
  }
  evictOldest(tx, trialSignups, { stays: ({ claimed }) => claimed });
  return pendingSignup;
}

/** Creates a TrialSignupDomainModel. */
const toSignupRecord = ({ id, token, email, oauth_provider, account_details }: TrialSignup) => ({
  id,
  token,
  email,
  oauth_provider,
  account_details,
});
