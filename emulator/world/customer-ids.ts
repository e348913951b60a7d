import { isObject } from "../../src/base/object.ts";
import { textAt } from "../http/bodies/fields.ts";

/**
 * The ids of customers in an event of the billing provider, the outermost first: a member `customer_id`, or the `id` of a
 * member `customer` (DECISIONS.md, R32).
 */
export function* customerIdsIn(event: unknown): Generator<string> {
  const level: unknown[] = [event];
  // The list grows while it is read: level by level.
  for (const value of level) {
    if (Array.isArray(value)) {
      for (const element of value) level.push(element);
    } else if (isObject(value)) {
      const ids = [textAt(value, "customer_id"), textAt(value, "customer", "id")];
      yield* ids.filter((id) => id !== undefined);
      for (const member of Object.values(value)) level.push(member);
    }
  }
}
