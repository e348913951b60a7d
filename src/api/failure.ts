import { type Basis, controlPlaneBasis } from "./basis.ts";

/**
 * A declared failure. `Data` is the data that the caller passes for the message. `Shape` is the form of the body, which
 * OpenAPI describes once per form.
 */
export interface Failure<Data = never> {
  readonly status: number;
  readonly shape: "detail" | "domain" | "fields" | "validation" | "oauth" | "control" | "xml";
  /** Condition of the failure, as shown on the reference page. */
  readonly when: string;
  readonly basis: Basis;
  readonly body: (data: Data) => unknown;
  readonly headers?: (data: Data) => Readonly<Record<string, string>>;
}

type CommonOptions<Data> = Pick<Failure<Data>, "status" | "when" | "basis" | "headers">;

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

/** The default status is 400 (DECISIONS.md, C22; RFC 6749, 5.2). */
type OptionsWithStatus<Data> = Omit<CommonOptions<Data>, "status"> & { readonly status?: number };

/** Declares a failure of shape B, `{"detail", "status_code", "code", "message"}`, where `detail` equals `message`. */
export const defineDomainFailure = <Data = void>({
  status = 400,
  says,
  code,
  ...rest
}: OptionsWithStatus<Data> & { says: MessageTemplate<Data>; code: string }): Failure<Data> => ({
  ...rest,
  status,
  shape: "domain",
  body: (data) => {
    const message = formatWords(says, data);
    return { detail: message, status_code: status, code, message };
  },
});

/**
 * Declares an OAuth error, `{"error": "<code>", "error_description"?: "<sentence>"}`, which is never cached (RFC 6749
 * section 5.2).
 */
export const defineOAuthFailure = <Data = void>({
  status = 400,
  error,
  says,
  ...rest
}: OptionsWithStatus<Data> & { error: string; says?: MessageTemplate<Data> }): Failure<Data> => ({
  ...rest,
  status,
  shape: "oauth",
  body: (data) => (says === undefined ? { error } : { error, error_description: formatWords(says, data) }),
  headers: (data) => ({ "cache-control": "no-store", ...rest.headers?.(data) }),
});

interface ControlFailure {
  readonly status: number;
  readonly when: string;
  /** Default: `controlPlaneBasis`. */
  readonly basis?: Basis;
  /** Default: the name of the failure, with underscores. */
  readonly code?: string;
  readonly says: MessageTemplate<never>;
  readonly hint?: MessageTemplate<never>;
}
type DataOf<Says> = Says extends (data: infer Data) => string ? Data : undefined;
type ControlFailures<All extends Readonly<Record<string, ControlFailure>>> = {
  readonly [Name in keyof All]: Failure<DataOf<All[Name]["says"]>>;
};

/** Declares the failures of the control plane by name, `{"error": {"code", "message", "hint"?}}`. */
export const defineControlFailures = <const All extends Readonly<Record<string, ControlFailure>>>(all: All) =>
  Object.fromEntries(
    Object.entries(all).map(([name, { status, when, basis = controlPlaneBasis, code, says, hint }]) => {
      const body = (data: never) => ({
        error: {
          code: code ?? name.replaceAll("-", "_"),
          message: formatWords(says, data),
          ...(hint !== undefined && { hint: formatWords(hint, data) }),
        },
      });
      return [name, { status, when, basis, shape: "control", body } satisfies Failure];
    }),
  ) as unknown as ControlFailures<All>;
