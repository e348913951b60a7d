import { fieldsOf, isObject, tryParseJson } from "../../base/object.ts";
import type { RecordedExchange } from "../exchange.ts";

export type Row = Readonly<Record<string, unknown>>;

/** The document of a message. */
export const bodyOf = (message: { readonly body: Buffer }): unknown => tryParseJson(message.body.toString("utf8"));
/** The objects of a list, or of the list under a name. */
export const rowsOf = (value: unknown, name?: string): readonly Row[] => {
  const list = Array.isArray(value) ? value : name === undefined ? undefined : fieldsOf(value)[name];
  return Array.isArray(list) ? list.filter(isObject) : [];
};

/** Whose API key was accepted, with what was recorded of it. */
export interface Caller {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly exchanges: readonly RecordedExchange[];
}
