import type { Operation } from "../../src/api/operation.ts";
import { pluralize } from "../../src/base/pluralize.ts";
import type { Observer } from "../../src/verify/observed/apply.ts";
import type { HttpResponse, ObserveAnswer } from "../http/response.ts";

/** How listeners ask an observer. Streams and bytes pass unchanged. */
export const observeWith =
  (observer: Observer): ObserveAnswer =>
  (operation: Operation, answer: HttpResponse) => {
    const { status, headers, body } = answer;
    if (answer.isForeign || (body !== undefined && typeof body !== "string")) return undefined;
    const found = observer.response(operation, { status, headers, body });
    if (!found) return undefined;
    const finding = found.rules
      .map(({ id, count, at }) => `${id} (observed ${pluralize(count, "time")}, last at ${at})`)
      .join("; ");
    return { answer: { ...answer, ...found.response }, finding };
  };
