import * as z from "zod";
import type { Activity } from "./activities.ts";
import type { Basis } from "./basis.ts";
import type { ControlRole } from "./control-plane.ts";
import type { FailureCode } from "./failures.ts";
import type { Service } from "./services.ts";
import { dictionary, rejectUnknownFields } from "./shapes.ts";

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

/** Declares a JSON document in a request or a response. Set `maxBytes` if the body can exceed the default limit. */
export const json = <S extends z.ZodType>(schema: S, limit: { readonly maxBytes?: number } = {}) =>
  ({ kind: "json", schema, ...limit }) as const;
/** Declares a JSON document that can be too long for one string. The document is streamed and not validated. */
export const jsonInPieces = <S extends z.ZodType>(schema: S) => ({ kind: "json", schema, inPieces: true }) as const;
/** Declares a body of type `application/x-www-form-urlencoded`. */
export const form = <S extends z.ZodType>(schema: S) => ({ kind: "form", schema }) as const;
/**
 * Declares a body that standard OAuth clients send as a form. If the specification declares only JSON,
 * `--strict=bodies` rejects the form. With `formIsStandard` the specification declares nothing, so OAuth's form applies
 * (DECISIONS.md, R5).
 */
export const jsonOrForm = <S extends z.ZodType>(schema: S, options: { readonly formIsStandard?: true } = {}) =>
  ({ kind: "jsonOrForm", schema, ...options }) as const;
/** Reports whether only OAuth defines the body, so that errors follow OAuth (RFC 6749, 5.2). */
export const isOAuthRequest = (body: RequestBody | undefined): boolean =>
  body?.kind === "jsonOrForm" && body.formIsStandard === true;
/** Declares bytes that are forwarded unchanged, as one Buffer. They are parsed only for identifiers. */
export const raw = () => ({ kind: "raw" }) as const;
/** Declares bytes that are never fully in memory. */
export const stream = (limit: { readonly maxBytes: number }) => ({ kind: "stream", ...limit }) as const;
export const empty = () => ({ kind: "empty" }) as const;
export const html = () => ({ kind: "html" }) as const;
/** Declares bytes of a media type. `others` are media types from which the handler chooses by the Accept header. */
export const bytes = (mediaType: string, ...others: readonly string[]) =>
  ({ kind: "bytes", mediaType, ...(others.length > 0 && { others }) }) as const;
export const redirect = () => ({ kind: "redirect" }) as const;
/** Declares server-sent events. The data of each event is a JSON document. */
export const events = <S extends z.ZodType>(schema: S) => ({ kind: "events", schema }) as const;
/**
 * Declares a cluster's status, headers and body, forwarded without checks. The specification's schema, if there is one,
 * is only documentation.
 */
export const passthrough = (schema?: z.ZodType) => ({ kind: "passthrough", ...(schema && { schema }) }) as const;

/**
 * Credentials of the client.
 * - `api-key`: the headers client-id and client-secret.
 * - `cluster-key`: the header x-cluster-key.
 * - `cluster-key-or-bearer`: that header or `authorization: Bearer <cluster key>`.
 * - `basic`: HTTP basic.
 * - `bearer`: an OAuth access token.
 * - `control-token`: the emulator's own token.
 * - `none`: no credentials. A signature can still be checked.
 */
export type Auth = "none" | "api-key" | "cluster-key" | "cluster-key-or-bearer" | "basic" | "bearer" | "control-token";

/**
 * A column of a table, by the path of its field. In a narrow window, columns with `shrinkPriority` are shortened in its
 * order, and then the last columns are omitted. Other values are always shown in full, because half an identifier is
 * useless.
 */
export type Column =
  | string
  | {
      readonly name: string;
      readonly shrinkPriority?: 1 | 2 | 3;
      /** Minimum number of characters that are still meaningful in a shortened value. */
      readonly minWidth?: number;
      /** The omitted part of a shortened value. Default: the end. */
      readonly omits?: "start" | "middle";
      /** Essential columns. Others are omitted first. */
      readonly purpose?: true;
    };

/**
 * The parts of an operation's command that its declaration cannot provide. `by` refers to a hand-written command
 * instead.
 */
export type CliSettings =
  | {
      /** Group and verb, such as `contracts status`. */
      readonly command: string;
      /** Fields of the response (or of each item of `rows`) in the table. Identifying fields come first. */
      readonly columns?: readonly Column[];
      /** The field of the response that contains the rows, if the response is not a list itself. */
      readonly rows?: string;
      /**
       * `yes` asks y/N or accepts --yes. With `name`, the user types the first positional again or passes the value
       * with --confirm.
       */
      readonly confirm?: "yes" | "name";
      /** Each filter of the query also accepts an operator after its name, such as `filter__created_at[$gt]`. */
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

/**
 * One HTTP operation as plain data. The routes, the client, the commands, the OpenAPI documents and the reference page
 * are derived from it.
 */
export interface Operation {
  /** `<resource>.<verb>`, unique over all services. */
  readonly id: string;
  readonly service: Service;
  /** Imperative summary, without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** HTTP method. Only the catch-all has several. */
  readonly method: Method | readonly Method[];
  /** Path with parameters in braces, such as `/contracts/{composite_id}/status`. */
  readonly path: string;
  /** Whether the parameter at the end of the path also accepts slashes, as `%2F` or unescaped. */
  readonly lastTakesSlashes?: true;
  readonly auth: Auth;
  /** Required role of a control plane operation, if the method does not imply it (`getRequiredRole`). */
  readonly role?: ControlRole;
  readonly request: RequestShape;
  readonly responses: Readonly<Record<number, ResponseBody>>;
  /** Maximum duration in ms of wall-clock time, if longer than the client's default timeout. */
  readonly maxDurationMs?: number;
  /** Failures in addition to those that the service declares for all its operations. */
  readonly failures: readonly FailureCode[];
  /** Failures of the cluster whose response is forwarded unchanged. Their status can equal one of `failures`. */
  readonly clusterFailures?: readonly FailureCode[];
  /** The command that lists valid values of an unknown argument, if the path does not imply it. */
  readonly unknownIsIn?: string;
  /** Whether a missing object is rejected with 403, like a forbidden action. */
  readonly hidesMissing?: true;
  readonly emits?: readonly Activity[];
  readonly cli: CliSettings;
  readonly basis: Basis;
  readonly examples: readonly Example[];
}

/**
 * Returns the role that a control plane operation requires: the declared one, "read" for reads, or "operate" for other
 * methods. Returns undefined if no token is required.
 */
export const getRequiredRole = ({ auth, method, role }: Pick<Operation, "auth" | "method" | "role">) =>
  auth === "control-token" ? (role ?? (method === "GET" ? "read" : "operate")) : undefined;

interface Schema {
  readonly schema?: z.ZodType | undefined;
}
type WithSchema<Answer> = Answer extends unknown ? Omit<Answer, "schema"> & Schema : never;

/**
 * The part of an operation that a request requires. Without schemas, the input counts as valid and responses are not
 * checked.
 */
export interface CallableOperation extends Pick<Operation, "id" | "method" | "path" | "auth" | "maxDurationMs"> {
  readonly service: Pick<Service, "name">;
  readonly request: Omit<RequestShape, "body"> & { readonly body?: (Pick<RequestBody, "kind"> & Schema) | undefined };
  readonly responses: Readonly<Record<number, WithSchema<ResponseBody>>>;
}

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** The constraint that `request.params` has the names in the path. A schema that omits a name does not compile. */
type ParamsOfPath<Path extends string> = [NamesIn<Path>] extends [never]
  ? { readonly request: { readonly params?: undefined } }
  : { readonly request: { readonly params: z.ZodObject<{ [Name in NamesIn<Path>]: z.ZodType }> } };

/**
 * Declares an operation. Returns its argument with the exact type. The control plane rejects unknown fields, because a
 * token without its misspelled `workspace` would have access to all. Addresses of pages may have other parameters.
 * `O` does not extend Operation: a declaration with a mistake would be a plain Operation, whose ID is any string, and
 * the compiler would report each handler of the service.
 */
export function defineOperation<const O extends Pick<Operation, "path">>(
  declaration: O & Operation & ParamsOfPath<O["path"]>,
): O {
  const { auth, service, request } = declaration;
  if (service.dialect !== "control") return declaration;
  const { body, query } = request;
  const closedRequest = {
    ...request,
    ...(body && "schema" in body && { body: { ...body, schema: rejectUnknownFields(body.schema) } }),
    ...(query && auth !== "none" && { query: rejectUnknownFields(query) }),
  };
  return { ...declaration, request: closedRequest };
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

/** A signed URL already includes params and query. */
type UrlPartInput<O extends Operation, Part extends "params" | "query"> = O["service"]["name"] extends "storage"
  ? undefined
  : PartInput<O["request"][Part]>;

/** Arguments of a client call: only the parts that the operation declares. */
export type ArgumentsOf<O extends Operation> = Argument<UrlPartInput<O, "params">, "params"> &
  Argument<UrlPartInput<O, "query">, "query"> &
  Argument<PartInput<O["request"]["headers"]>, "headers"> &
  Argument<BodyInput<O["request"]["body"]>, "body">;

type ResponseOf<B> = B extends { kind: "json"; schema: infer S extends z.ZodType }
  ? z.input<S>
  : B extends { kind: "events"; schema: infer S extends z.ZodType }
    ? AsyncIterable<z.output<S>>
    : B extends { kind: "bytes" }
      ? Uint8Array | AsyncIterable<Uint8Array>
      : B extends { kind: "html" | "redirect" }
        ? string
        : undefined;

/** The body of a success: a document, HTML text, bytes, the location of a redirect, or nothing. */
export type ResultOf<O extends Operation> = ResponseOf<O["responses"][keyof O["responses"]]>;

type Route = Pick<Operation, "method" | "path" | "lastTakesSlashes">;

/** Returns the first of the operations that matches the method and the path. The path has no query. */
export function findOperationAt<One extends Route>(operations: readonly One[], method: string, path: string) {
  const segments = path.split("/");
  return operations.find(
    (operation) =>
      [operation.method].flat().some((declaredMethod) => declaredMethod === method) && matchesPath(operation, segments),
  );
}

function matchesPath({ path, lastTakesSlashes }: Route, input: readonly string[]): boolean {
  const declared = path.split("/");
  if (lastTakesSlashes ? input.length < declared.length : input.length !== declared.length) return false;
  return declared.every((segment, at) => (segment.startsWith("{") ? input[at] !== "" : segment === input[at]));
}

/** Reports whether a string is a valid HTTP field name (RFC 9110, 5.1). */
export const isHeaderName = (name: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(name);

/** Reports whether a string is a valid HTTP field value (RFC 9110, 5.5). */
export const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

/** Headers that frame a response. The server derives them from the body (RFC 9112, 6). */
const framing = ["connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

/** Headers of a scripted response. */
export const responseHeaders = dictionary(z.string()).superRefine((input, context) => {
  for (const [name, value] of Object.entries(input)) {
    const addIssue = (message: string) => context.addIssue({ code: "custom", message, path: [name] });
    if (!isHeaderName(name)) addIssue("must be letters, digits and !#$%&'*+-.^_`|~");
    else if (framing.includes(name.toLowerCase())) addIssue("is set by the emulator");
    else if (!isHeaderValue(value)) addIssue("must be ISO-8859-1 without control characters");
  }
});
