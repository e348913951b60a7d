import type { Fields } from "./form.ts";

/**
 * The parameters of OAuth and OpenID Connect that have one meaning. `audience` and `resource` may come several times
 * (RFC 8693, 2.1; RFC 8707, 2); unknown parameters are ignored, however often they come (RFC 6749, 3.1).
 */
const single: ReadonlySet<string> = new Set([
  ...[
    "client_id",
    "client_secret",
    "code",
    "code_verifier",
    "device_code",
    "grant_type",
    "redirect_uri",
    "refresh_token",
  ],
  ...["response_type", "response_mode", "scope", "state", "nonce", "code_challenge", "code_challenge_method"],
  ...["prompt", "display", "max_age", "login_hint", "id_token_hint", "acr_values", "claims", "request", "request_uri"],
  ...["subject_token", "subject_token_type", "requested_token_type", "actor_token", "actor_token_type"],
]);

/** The first parameter of an OAuth request that came more than once, which none must (RFC 6749, 3.1 and 3.2). */
export const findRepeatedField = (fields: Fields): string | undefined =>
  Object.keys(fields).find((name) => typeof fields[name] === "object" && single.has(name));
