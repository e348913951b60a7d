import { fail } from "../../src/api/failures.ts";
import { sameSecret } from "../../src/base/hmac.ts";
import type { Authenticators } from "../http/handler.ts";
import type { Sessions } from "./console/sessions.ts";

/** Who calls the control plane: whoever has its token, or a browser that was signed in. */
export interface ControlCaller {
  /** The token of its session; undefined for the owner of the control token. */
  readonly session: string | undefined;
}

/**
 * The control plane's own token, or that of a session of the console, as a bearer token (DECISIONS.md, E7). Never a
 * cookie: every port of this machine would be sent it.
 */
export const controlAuthenticators = (token: string, sessions: Sessions) =>
  ({
    "control-token": ({ headers }): ControlCaller => {
      const [, given] = /^bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "") ?? [];
      if (given === undefined) return fail("no-control-token");
      if (sameSecret(given, token)) return { session: undefined };
      return sessions.has(given) ? { session: given } : fail("no-control-token");
    },
  }) satisfies Authenticators;
