import * as z from "zod";
import { isObject } from "../base/object.ts";

const record: z.core.$constructor<z.ZodRecord> = z.ZodRecord;

/** Zod's own record leaves the key `__proto__` out, unchecked: here it is a key like any other (DECISIONS.md, R1). */
const Dictionary = z.core.$constructor<z.ZodRecord>("Dictionary", (instance, definition) => {
  record.init(instance, definition);
  const parseOthers = instance._zod.parse;
  instance._zod.parse = (payload, context) => {
    const { value } = payload;
    if (!isObject(value) || !Object.hasOwn(value, "__proto__")) return parseOthers(payload, context);
    const members = Object.entries(value).map(([name, input]) => {
      // Nothing in a declaration is asynchronous.
      const read = definition.valueType._zod.run({ value: input, issues: [] }, context) as z.core.ParsePayload;
      payload.issues.push(...z.core.util.prefixIssues(name, read.issues));
      return [name, read.value] as const;
    });
    // `fromEntries` defines the key as its own, where an assignment would set the prototype.
    payload.value = Object.fromEntries(members);
    return payload;
  };
});

/** An object of whatever keys somebody chooses, with values of one kind. */
export const dictionary = <Value extends z.ZodType>(valueType: Value): z.ZodRecord<z.ZodString, Value> =>
  new Dictionary({ type: "record", keyType: z.string(), valueType }) as unknown as z.ZodRecord<z.ZodString, Value>;
