import type { User } from "../../world/workspaces.ts";

/** What a client may ask for (OpenID Connect Core, 5.4 and 11). */
export const scopes = ["openid", "profile", "email", "offline_access"];

/** What a client gets that asks for nothing, as a device cannot (the specification, DeviceGrantTokenCreateRequest). */
export const defaultScope = "openid profile email";

export const wordsOf = (scope: string): string[] => scope.split(" ").filter((word) => word !== "");

/** A scope without the words that nobody here knows, which are ignored (OpenID Connect Core, 3.1.2.1). */
export const knownScope = (scope: string): string =>
  wordsOf(scope)
    .filter((word) => scopes.includes(word))
    .join(" ");

/** The words of a scope that are ignored. */
export const unknownWords = (scope: string): string[] => wordsOf(scope).filter((word) => !scopes.includes(word));

/** What is told of a person under a scope, beside `sub`. */
export function claimsOf(user: User, scope: string): Readonly<Record<string, unknown>> {
  const requested = wordsOf(scope);
  return {
    ...(requested.includes("profile") && { name: user.name }),
    ...(requested.includes("email") && { email: user.email, email_verified: true }),
  };
}
