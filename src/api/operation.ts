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

/** A JSON document, as a request body or as a response; `maxBytes` where a body may be longer than is usual. */
export const json = <S extends z.ZodType>(schema: S, limit: { readonly maxBytes?: number } = {}) =>
  ({ kind: "json", schema, ...limit }) as const;
/** A JSON document that may be too long to be held as one text. It is sent as it is written, and not checked. */
export const jsonInPieces = <S extends z.ZodType>(schema: S) => ({ kind: "json", schema, inPieces: true }) as const;
/** A body of type `application/x-www-form-urlencoded`. */
export const form = <S extends z.ZodType>(schema: S) => ({ kind: "form", schema }) as const;
/**
 * A body that standard OAuth clients send as a form. Where the specification declares JSON alone, `--strict=bodies`
 * rejects the form; `formIsStandard` where it declares nothing, so that it is as OAuth has it (DECISIONS.md, R5).
 */
export const jsonOrForm = <S extends z.ZodType>(schema: S, options: { readonly formIsStandard?: true } = {}) =>
  ({ kind: "jsonOrForm", schema, ...options }) as const;
/** Whether a body is described by OAuth alone, and rejected in its words (RFC 6749, 5.2). */
export const isOAuthRequest = (body: RequestBody | undefined): boolean =>
  body?.kind === "jsonOrForm" && body.formIsStandard === true;
/** Bytes that pass unchanged, as one Buffer; they are parsed only to find identifiers. */
export const raw = () => ({ kind: "raw" }) as const;
/** Bytes that are never held in memory as a whole. */
export const stream = (limit: { readonly maxBytes: number }) => ({ kind: "stream", ...limit }) as const;
export const empty = () => ({ kind: "empty" }) as const;
export const html = () => ({ kind: "html" }) as const;
/** `others`: types among which the handler chooses by what the caller accepts. */
export const bytes = (mediaType: string, ...others: readonly string[]) =>
  ({ kind: "bytes", mediaType, ...(others.length > 0 && { others }) }) as const;
export const redirect = () => ({ kind: "redirect" }) as const;
/** Server-sent events, each a JSON document. */
export const events = <S extends z.ZodType>(schema: S) => ({ kind: "events", schema }) as const;
/** A cluster's own status, headers and body: not checked. The schema, where the specification shows one, is for readers. */
export const passthrough = (schema?: z.ZodType) => ({ kind: "passthrough", ...(schema && { schema }) }) as const;

/**
 * Credentials of the caller. `api-key`: headers client-id and client-secret. `cluster-key`: header x-cluster-key.
 * `cluster-key-or-bearer`: that or `authorization: Bearer <cluster key>`. `basic`: HTTP basic. `bearer`: an OAuth
 * access token. `control-token`: the emulator's own token. `none`: anyone; a signature may still be checked.
 */
export type Auth = "none" | "api-key" | "cluster-key" | "cluster-key-or-bearer" | "basic" | "bearer" | "control-token";

/**
 * A column of a table: the path of its field. Where a window is too narrow, columns with `cut` are shortened, those of
 * 1 first, and the last ones are omitted. Without it a value is shown whole: half an identifier is none.
 */
export type Column =
  | string
  | {
      readonly name: string;
      readonly cut?: 1 | 2 | 3;
      /** This many characters of it say something, if it is cut. */
      readonly least?: number;
      /** The rest in that case, if it is not the end. */
      readonly omits?: "start" | "middle";
      /** Essential columns: others are omitted before them. */
      readonly purpose?: true;
    };

/** Parts of an operation's command that its declaration cannot provide; `by` names a hand-written command instead. */
export type CliSettings =
  | {
      /** Group and verb: `contracts status`. */
      readonly command: string;
      /** Fields of the response (or of each item of `rows`) that a table shows, the identifying ones first. */
      readonly columns?: readonly Column[];
      /** The field of the response that holds the rows, where the response is not a list itself. */
      readonly rows?: string;
      /** `yes`: asks y/N or accepts --yes. `name`: the first positional is typed again or given by --confirm. */
      readonly confirm?: "yes" | "name";
      /** Every filter of the query also takes an operator behind its name: `filter__created_at[$gt]`. */
      readonly operators?: true;
    }
  | { readonly by: string };

/** One call as a person would write it; shown in help and in the OpenAPI documents. */
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
  /** Only the headers that the specification declares next to credentials, in lower case. */
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
  /** The catch-all alone has several. */
  readonly method: Method | readonly Method[];
  /** With names in braces: `/contracts/{composite_id}/status`. */
  readonly path: string;
  /** The parameter at the end of the path takes slashes as well, sent as `%2F` or plain. */
  readonly lastTakesSlashes?: true;
  readonly auth: Auth;
  /** Of the control plane alone: the required role, if its method does not imply it (`getRequiredRole`). */
  readonly role?: ControlRole;
  readonly request: RequestShape;
  readonly responses: Readonly<Record<number, ResponseBody>>;
  /** How long what it does may take, in ms on the wall clock, if that is longer than clients usually wait. */
  readonly longestMs?: number;
  /** Next to those that the service declares for all its operations. */
  readonly failures: readonly FailureCode[];
  /** Failures of the cluster whose response is forwarded, in its own words, under a status of `failures`, too. */
  readonly clusterFailures?: readonly FailureCode[];
  /** The command that lists what it may reject as unknown, where its path does not say what that is. */
  readonly unknownIsIn?: string;
  /** A missing object is rejected with 403, like a forbidden action. */
  readonly hidesMissing?: true;
  readonly emits?: readonly Activity[];
  readonly cli: CliSettings;
  readonly basis: Basis;
  readonly examples: readonly Example[];
}

/**
 * The role that an operation of the control plane needs: the declared one; else "read" for reads, and "operate" for the
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
 * The part of an operation that a call needs. Without schemas its input counts as checked, and its responses are not
 * compared.
 */
export interface CallableOperation extends Pick<Operation, "id" | "method" | "path" | "auth" | "longestMs"> {
  readonly service: Pick<Service, "name">;
  readonly request: Omit<RequestShape, "body"> & { readonly body?: (Pick<RequestBody, "kind"> & Schema) | undefined };
  readonly responses: Readonly<Record<number, WithSchema<ResponseBody>>>;
}

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** Ties `request.params` to the names in the path: a schema that lacks one does not compile. */
type ParamsOfPath<Path extends string> = [NamesIn<Path>] extends [never]
  ? { readonly request: { readonly params?: undefined } }
  : { readonly request: { readonly params: z.ZodObject<{ [Name in NamesIn<Path>]: z.ZodType }> } };

/** Declares an operation: the same value out, the same type out. */
export function operation<const O extends Operation>(declaration: O & ParamsOfPath<O["path"]>): O {
  return declaration;
}

type PartIn<S> = S extends z.ZodType ? z.input<S> : undefined;
type PartOut<S> = S extends z.ZodType ? z.output<S> : Record<never, never>;

type BodyOut<B> = B extends { schema: infer S extends z.ZodType }
  ? z.output<S>
  : B extends { kind: "raw" }
    ? Buffer
    : B extends { kind: "stream" }
      ? AsyncIterable<Uint8Array>
      : undefined;

type BodyIn<B> = B extends { schema: infer S extends z.ZodType }
  ? z.input<S>
  : B extends { kind: "raw" | "stream" }
    ? Uint8Array | AsyncIterable<Uint8Array>
    : undefined;

/** Input of a handler: decoded, authenticated and validated. */
export interface InputOf<O extends Operation> {
  readonly params: PartOut<O["request"]["params"]>;
  readonly query: PartOut<O["request"]["query"]>;
  readonly headers: PartOut<O["request"]["headers"]>;
  readonly body: BodyOut<O["request"]["body"]>;
}

type Argument<T, Key extends string> = [T] extends [undefined]
  ? { readonly [K in Key]?: undefined }
  : Record<never, never> extends T
    ? { readonly [K in Key]?: T }
    : { readonly [K in Key]: T };

/** A signed URL holds them. */
type PartOfUrl<O extends Operation, Part extends "params" | "query"> = O["service"]["name"] extends "storage"
  ? undefined
  : PartIn<O["request"][Part]>;

/** Arguments of a client's caller: only the parts that the operation declares. */
export type ArgumentsOf<O extends Operation> = Argument<PartOfUrl<O, "params">, "params"> &
  Argument<PartOfUrl<O, "query">, "query"> &
  Argument<PartIn<O["request"]["headers"]>, "headers"> &
  Argument<BodyIn<O["request"]["body"]>, "body">;

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

/** The first of these operations that accepts a request of this method and path, as it is sent: without its query. */
export const findOperationAt = <One extends Route>(operations: readonly One[], method: string, path: string) =>
  operations.find((one) => [one.method].flat().some((own) => own === method) && matchesPath(one, path.split("/")));

function matchesPath({ path, lastTakesSlashes }: Route, given: readonly string[]): boolean {
  const declared = path.split("/");
  if (lastTakesSlashes ? given.length < declared.length : given.length !== declared.length) return false;
  return declared.every((segment, at) => (segment.startsWith("{") ? given[at] !== "" : segment === given[at]));
}

/** Whether HTTP can carry it as the name of a field (RFC 9110, 5.1). */
export const isHeaderName = (name: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(name);

/** Whether HTTP can carry it as the value of a field (RFC 9110, 5.5). */
export const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

/** Headers that frame a response: the server writes them, from the body that it sends (RFC 9112, 6). */
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
