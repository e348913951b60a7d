import type { Fail } from "../../src/api/failures.ts";
import { computeHmac, isEqualInConstantTime } from "../../src/base/hmac.ts";
import type { HtmlPage } from "../http/page.ts";
import { reply } from "../http/reply.ts";
import type { ControlContext } from "./context.ts";

type CsrfContext = Pick<ControlContext, "instance">;

/**
 * Returns a hidden form value that other sites cannot guess. It binds the form to this emulator and to one object, such
 * as a user code (DECISIONS.md, E7).
 */
export const createCsrfToken = ({ instance }: CsrfContext, subject: string): string =>
  computeHmac("sha256", instance.formKey, subject).toString("base64url");

export function requireCsrfToken(context: CsrfContext, subject: string, token: string, fail: Fail<"stale-form">): void {
  if (!isEqualInConstantTime(token, createCsrfToken(context, subject))) fail("stale-form");
}

export const sendPage = ({ text, headers }: HtmlPage) => reply(200, text, headers);
