import * as z from "zod";
import type { Activity } from "./activities.ts";
import type { Basis } from "./basis.ts";
import type { ControlRole } from "./control-roles.ts";
import type { FailureCode } from "./failures.ts";
import type { Service } from "./services.ts";
import { dictionary } from "./shapes.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Kinds of request body. */
export type RequestBody =
  | JsonBody
  | { readonly kind: "form"; readonly schema: z.ZodType }
  | { readonly kind: "jsonOrForm"; readonly schema: z.ZodType; readonly formIsStandard?: true }
  | { readonly kind: "raw" }
  | { readonly kind: "stream"; readonly maxBytes: number };

/** Kinds of response. */
export type ResponseBody =
  | JsonBody
  | { readonly kind: "empty" }
  | { readonly kind: "html" }
  | { readonly kind: "bytes"; readonly mediaType: string; readonly others?: readonly string[] }
  | { readonly kind: "redirect" }
  | { readonly kind: "events"; readonly schema: z.ZodType }
  | { readonly kind: "passthrough"; readonly schema?: z.ZodType };

interface JsonBody<S extends z.ZodType = z.ZodType> {
  readonly kind: "json";
  readonly schema: S;
  readonly inPieces?: true;
  readonly maxBytes?: number;
}

/** A JSON document, in a request or a response. `maxBytes` if the body may be longer than the default limit. */
export const json = <S extends z.ZodType>(schema: S, limit: { readonly maxBytes?: number } = {}) =>
  ({ kind: "json", schema, ...limit }) as const;
/** A JSON document that may be too long for one string. It is streamed and not validated. */
export const jsonInPieces = <S extends z.ZodType>(schema: S) => ({ kind: "json", schema, inPieces: true }) as const;
/** A body of type `application/x-www-form-urlencoded`. */
export const form = <S extends z.ZodType>(schema: S) => ({ kind: "form", schema }) as const;
/**
 * A body that standard OAuth clients send as a form. If the specification declares only JSON, `--strict=bodies` rejects
 * the form. With `formIsStandard` the specification declares nothing, so OAuth's form applies (DECISIONS.md, R5).
 */
export const jsonOrForm = <S extends z.ZodType>(schema: S, options: { readonly formIsStandard?: true } = {}) =>
  ({ kind: "jsonOrForm", schema, ...options }) as const;
/** Whether only OAuth defines the body, so that errors follow OAuth (RFC 6749, 5.2). */
export const isOAuthRequest = (body: RequestBody | undefined): boolean =>
  body?.kind === "jsonOrForm" && body.formIsStandard === true;
/** Bytes that are forwarded unchanged, as one Buffer. They are parsed only to find identifiers. */
export const raw = () => ({ kind: "raw" }) as const;
/** Bytes that are never fully in memory. */
export const stream = (limit: { readonly maxBytes: number }) => ({ kind: "stream", ...limit }) as const;
export const empty = () => ({ kind: "empty" }) as const;
export const html = () => ({ kind: "html" }) as const;
/** `others`: media types from which the handler chooses by the Accept header. */
export const bytes = (mediaType: string, ...others: readonly string[]) =>
  ({ kind: "bytes", mediaType, ...(others.length > 0 && { others }) }) as const;
export const redirect = () => ({ kind: "redirect" }) as const;
/** Server-sent events, each of them a JSON document. */
export const events = <S extends z.ZodType>(schema: S) => ({ kind: "events", schema }) as const;
/** A cluster's status, headers and body, unchecked. The schema from the specification, if any, is for readers. */
export const passthrough = (schema?: z.ZodType) => ({ kind: "passthrough", ...(schema && { schema }) }) as const;

/**
 * Credentials of the client. `api-key`: headers client-id and client-secret. `cluster-key`: header x-cluster-key.
 * `cluster-key-or-bearer`: that or `authorization: Bearer <cluster key>`. `basic`: HTTP basic. `bearer`: an OAuth
 * access token. `control-token`: the emulator's own token. `none`: anyone; a signature may still be checked.
 */
export type Auth = "none" | "api-key" | "cluster-key" | "cluster-key-or-bearer" | "basic" | "bearer" | "control-token";

/**
 * A column of a table: the path of its field. In a narrow window, columns with `cut` are shortened, those with 1 first,
 * and then the last columns are omitted. Without `cut` a value is always shown in full, because half an identifier is
 * useless.
 */
export type Column =
  | string
  | {
      readonly name: string;
      readonly cut?: 1 | 2 | 3;
      /** The minimum number of characters that are still meaningful when it is cut. */
      readonly least?: number;
      /** The part that stays when it is cut, if it is not the start. */
      readonly omits?: "start" | "middle";
      /** Essential columns. Others are omitted first. */
      readonly purpose?: true;
    };

/**
 * The parts of an operation's command that its declaration cannot provide. `by` names a hand-written command instead.
 */
export type CliSettings =
  | {
      /** Group and verb: `contracts status`. */
      readonly command: string;
      /** Fields of the response (or of each item of `rows`) in the table. Identifying fields come first. */
      readonly columns?: readonly Column[];
      /** The field of the response that holds the rows, if the response is not a list itself. */
      readonly rows?: string;
      /**
       * `yes`: asks y/N or accepts --yes. `name`: the user types the first positional again, or passes it with
       * --confirm.
       */
      readonly confirm?: "yes" | "name";
      /** Every filter of the query also accepts an operator after its name: `filter__created_at[$gt]`. */
      readonly operators?: true;
    }
  | { readonly by: string };

/** An example call, shown in help and in the OpenAPI documents. */
export interface Example {
  readonly title: string;
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface RequestShape {
  readonly params?: z.ZodObject | undefined;
  readonly query?: z.ZodObject | undefined;
  /** Only the headers that the specification declares in addition to credentials, in lower case. */
  readonly headers?: z.ZodObject | undefined;
  readonly body?: RequestBody | undefined;
}

/** One HTTP operation as plain data. Routes, client, commands, OpenAPI and the reference page derive from it. */
export interface Operation {
  /** `<resource>.<verb>`, unique over all services. */
  readonly id: string;
  readonly service: Service;
  /** Verb first, without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** Only the catch-all has several. */
  readonly method: Method | readonly Method[];
  /** With parameters in braces: `/contracts/{composite_id}/status`. */
  readonly path: string;
  /** The parameter at the end of the path also accepts slashes, as `%2F` or unescaped. */
  readonly lastTakesSlashes?: true;
  readonly auth: Auth;
  /** Control plane only: the required role, if the method does not imply it (`getRequiredRole`). */
  readonly role?: ControlRole;
  readonly request: RequestShape;
  readonly responses: Readonly<Record<number, ResponseBody>>;
  /** Maximum duration in ms of wall-clock time, if it is longer than the usual client timeout. */
  readonly maxDurationMs?: number;
  /** In addition to those that the service declares for all its operations. */
  readonly failures: readonly FailureCode[];
  /**
   * Failures of the cluster whose response is forwarded unchanged, possibly with the same status as one of `failures`.
   */
  readonly clusterFailures?: readonly FailureCode[];
  /** The command that lists valid values of an unknown argument, if the path does not imply it. */
  readonly unknownIsIn?: string;
  /** A missing object is rejected with 403, like a forbidden action. */
  readonly hidesMissing?: true;
  readonly emits?: readonly Activity[];
  readonly cli: CliSettings;
  readonly basis: Basis;
  readonly examples: readonly Example[];
}

/**
 * The role that an operation of the control plane requires: the declared one, "read" for reads, or "operate" for the
 * rest. Undefined: anyone may call it.
 */
export const getRequiredRole = ({
  auth,
  method,
  role,
}: Pick<Operation, "auth" | "method" | "role">): ControlRole | undefined =>
  auth === "control-token" ? (role ?? (method === "GET" ? "read" : "operate")) : undefined;

interface Schema {
  readonly schema?: z.ZodType | undefined;
}
type WithSchema<Answer> = Answer extends unknown ? Omit<Answer, "schema"> & Schema : never;

/**
 * The part of an operation that a request needs. Without schemas, its input counts as valid and its responses are not
 * checked.
 */
export interface CallableOperation extends Pick<Operation, "id" | "method" | "path" | "auth" | "maxDurationMs"> {
  readonly service: Pick<Service, "name">;
  readonly request: Omit<RequestShape, "body"> & { readonly body?: (Pick<RequestBody, "kind"> & Schema) | undefined };
  readonly responses: Readonly<Record<number, WithSchema<ResponseBody>>>;
}

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** Ties `request.params` to the names in the path. A schema that omits one does not compile. */
type ParamsOfPath<Path extends string> = [NamesIn<Path>] extends [never]
  ? { readonly request: { readonly params?: undefined } }
  : { readonly request: { readonly params: z.ZodObject<{ [Name in NamesIn<Path>]: z.ZodType }> } };

/** Declares an operation: returns its argument with the exact type. */
export function operation<const O extends Operation>(declaration: O & ParamsOfPath<O["path"]>): O {
  return declaration;
}

type PartInput<S> = S extends z.ZodType ? z.input<S> : undefined;
type PartOutput<S> = S extends z.ZodType ? z.output<S> : Record<never, never>;

type BodyOutput<B> = B extends { schema: infer S extends z.ZodType }
  ? z.output<S>
  : B extends { kind: "raw" }
    ? Buffer
    : B extends { kind: "stream" }
      ? AsyncIterable<Uint8Array>
      : undefined;

type BodyInput<B> = B extends { schema: infer S extends z.ZodType }
  ? z.input<S>
  : B extends { kind: "raw" | "stream" }
    ? Uint8Array | AsyncIterable<Uint8Array>
    : undefined;

/** Input of a handler: decoded, authenticated and validated. */
export interface InputOf<O extends Operation> {
  readonly params: PartOutput<O["request"]["params"]>;
  readonly query: PartOutput<O["request"]["query"]>;
  readonly headers: PartOutput<O["request"]["headers"]>;
  readonly body: BodyOutput<O["request"]["body"]>;
}

type Argument<T, Key extends string> = [T] extends [undefined]
  ? { readonly [K in Key]?: undefined }
  : Record<never, never> extends T
    ? { readonly [K in Key]?: T }
    : { readonly [K in Key]: T };

/** A signed URL contains them. */
type UrlPartInput<O extends Operation, Part extends "params" | "query"> = O["service"]["name"] extends "storage"
  ? undefined
  : PartInput<O["request"][Part]>;

/** Arguments of a client call: only the parts that the operation declares. */
export type ArgumentsOf<O extends Operation> = Argument<UrlPartInput<O, "params">, "params"> &
  Argument<UrlPartInput<O, "query">, "query"> &
  Argument<PartInput<O["request"]["headers"]>, "headers"> &
  Argument<BodyInput<O["request"]["body"]>, "body">;

type ResponseOf<B> = B extends { kind: "json" | "events"; schema: infer S extends z.ZodType }
  ? B extends { kind: "events" }
    ? AsyncIterable<z.output<S>>
    : z.input<S>
  : B extends { kind: "html" }
    ? string
    : B extends { kind: "bytes" }
      ? Uint8Array | AsyncIterable<Uint8Array>
      : B extends { kind: "redirect" }
        ? string
        : undefined;

/** The body of a success: a document, HTML text, bytes, the location of a redirect, or nothing. */
export type ResultOf<O extends Operation> = ResponseOf<O["responses"][keyof O["responses"]]>;

type Route = Pick<Operation, "method" | "path" | "lastTakesSlashes">;

/** The first of these operations that matches the method and the path, which has no query. */
export const findOperationAt = <One extends Route>(operations: readonly One[], method: string, path: string) =>
  operations.find(
    (one) =>
      [one.method].flat().some((declaredMethod) => declaredMethod === method) && matchesPath(one, path.split("/")),
  );

function matchesPath({ path, lastTakesSlashes }: Route, given: readonly string[]): boolean {
  const declared = path.split("/");
  if (lastTakesSlashes ? given.length < declared.length : given.length !== declared.length) return false;
  return declared.every((segment, at) => (segment.startsWith("{") ? given[at] !== "" : segment === given[at]));
}

/** Whether a string is a valid HTTP field name (RFC 9110, 5.1). */
export const isHeaderName = (name: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(name);

/** Whether a string is a valid HTTP field value (RFC 9110, 5.5). */
export const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

/** Headers that frame a response. The server derives them from the body (RFC 9112, 6). */
const framing = ["connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

/** Headers of a scripted response. */
export const responseHeaders = dictionary(z.string()).superRefine((given, context) => {
  for (const [name, value] of Object.entries(given)) {
    const message = findHeaderProblem(name, value);
    if (message !== undefined) context.addIssue({ code: "custom", message, path: [name] });
  }
});

function findHeaderProblem(name: string, value: string): string | undefined {
  if (!isHeaderName(name)) return "must be letters, digits and !#$%&'*+-.^_`|~";
  if (framing.includes(name.toLowerCase())) return "is set by the emulator";
  return isHeaderValue(value) ? undefined : "must be ISO-8859-1 without control characters";
}
