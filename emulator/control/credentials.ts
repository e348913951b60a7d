import { fail } from "../../src/api/failures.ts";
import { sameSecret } from "../../src/base/hmac.ts";
import type { Authenticators } from "../http/handler.ts";

/** The control plane's own token, as a bearer token (DECISIONS.md, E7). */
export const controlAuthenticators = (token: string) =>
  ({
    "control-token": ({ headers }) => {
      const [, given] = /^bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "") ?? [];
      if (given === undefined || !sameSecret(given, token)) fail("no-control-token");
    },
  }) satisfies Authenticators;
