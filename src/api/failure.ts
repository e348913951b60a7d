import type { Basis } from "./basis.ts";

/**
 * A declared failure. `Data` is the data that the caller passes for the message. `Shape` is the form of the body, which
 * OpenAPI describes once per form.
 */
export interface Failure<Data = never> {
  readonly status: number;
  readonly shape: "detail" | "domain" | "fields" | "validation" | "oauth" | "control" | "xml" | "text";
  /** Condition of the failure, as shown on the reference page. */
  readonly when: string;
  readonly basis: Basis;
  readonly body: (data: Data) => unknown;
  readonly headers?: (data: Data) => Readonly<Record<string, string>>;
}

interface CommonOptions<Data> {
  readonly status: number;
  readonly when: string;
  readonly basis: Basis;
  readonly headers?: (data: Data) => Readonly<Record<string, string>>;
}

type MessageTemplate<Data> = string | ((data: Data) => string);
const formatWords = <Data>(words: MessageTemplate<Data>, data: Data): string =>
  typeof words === "string" ? words : words(data);

/** Declares a failure of shape A, `{"detail": "<sentence>"}` (DECISIONS.md, F4, R3). */
export const defineDetailFailure = <Data = void>({
  says,
  ...rest
}: CommonOptions<Data> & { says: MessageTemplate<Data> }): Failure<Data> => ({
  ...rest,
  shape: "detail",
  body: (data) => ({ detail: formatWords(says, data) }),
});

/** Declares a failure of shape B, `{"detail", "status_code", "code", "message"}`, where `detail` equals `message`. */
export const defineDomainFailure = <Data = void>({
  says,
  code,
  ...rest
}: CommonOptions<Data> & { says: MessageTemplate<Data>; code: string }): Failure<Data> => ({
  ...rest,
  shape: "domain",
  body: (data) => {
    const message = formatWords(says, data);
    return { detail: message, status_code: rest.status, code, message };
  },
});

/** Declares a failure of shape C, `{"<field>": ["<message>"]}`. */
export const defineFieldFailure = <Data = void>({
  says,
  field: name,
  ...rest
}: CommonOptions<Data> & { says: MessageTemplate<Data>; field: MessageTemplate<Data> }): Failure<Data> => ({
  ...rest,
  shape: "fields",
  body: (data) => ({ [formatWords(name, data)]: [formatWords(says, data)] }),
});

/**
 * Declares an OAuth error, `{"error": "<code>", "error_description"?: "<sentence>"}`, which is never cached (RFC 6749
 * section 5.2).
 */
export const defineOAuthFailure = <Data = void>({
  error,
  says,
  ...rest
}: CommonOptions<Data> & { error: string; says?: MessageTemplate<Data> }): Failure<Data> => ({
  ...rest,
  shape: "oauth",
  body: (data) => (says === undefined ? { error } : { error, error_description: formatWords(says, data) }),
  headers: (data) => ({ "cache-control": "no-store", ...rest.headers?.(data) }),
});

/** Declares a failure of the control plane, `{"error": {"code", "message", "hint"?}}`. */
export const defineControlFailure = <Data = void>({
  code,
  says,
  hint,
  ...rest
}: CommonOptions<Data> & {
  code: string;
  says: MessageTemplate<Data>;
  hint?: MessageTemplate<Data>;
}): Failure<Data> => ({
  ...rest,
  shape: "control",
  body: (data) => ({
    error: { code, message: formatWords(says, data), ...(hint === undefined ? {} : { hint: formatWords(hint, data) }) },
  }),
});
