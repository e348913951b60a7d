import type { RequestBody } from "../../../src/api/operation.ts";
import type { Service } from "../../../src/api/services.ts";
import { StacklessError } from "../../../src/base/stackless-error.ts";
import type { Finding } from "../handler.ts";
import { decodeJsonBytes, decodeUtf8, EncodingError } from "./encoding.ts";
import { type Fields, lastValues, MissingBoundary, parseFields, parseMultipart, TooManyParts } from "./form.ts";
import { type Decoded, type JsonPosition, parseJson, placeOf } from "./json.ts";
import { isFormType, isJsonType, isMultipartType } from "./media-type.ts";
import { JsonLimitError, JsonSyntaxError } from "./python-json.ts";
import { repeatedParameter } from "./repeated.ts";
import { hasTooManyFields, heaviest } from "./weight.ts";

/** Why a body could not be read, for the dialect to put into words. */
export type Unreadable =
  | ({ readonly why: "json"; readonly message: string } & JsonPosition)
  | { readonly why: "encoding" }
  | { readonly why: "limit"; readonly message: string }
  | { readonly why: "media-type"; readonly type: string }
  | { readonly why: "repeated"; readonly name: string }
  | { readonly why: "boundary" | "parts" };

export class UnreadableBody extends StacklessError {
  override readonly name = "UnreadableBody";
  readonly problem: Unreadable;

  constructor(problem: Unreadable) {
    super(`unreadable body: ${problem.why}`);
    this.problem = problem;
  }
}

/** Turns the bytes of a body into a value, or fails with UnreadableBody. */
export type Decode = (body: Buffer, contentType: string | undefined, finding: Finding) => Decoded | Promise<Decoded>;

const nothing: Decoded = { value: undefined, source: () => null, length: 0 };
const plain = (value: unknown, length: number): Decoded => ({ value, source: () => value, length });
const fields = (value: Readonly<Record<string, string | undefined>>, length: number): Decoded => ({
  ...plain(value, length),
  isForm: true,
});

/** The decoder for a kind of body in a dialect; undefined where the handler gets the bytes or nothing. */
export function decoderFor(
  body: RequestBody | undefined,
  dialect: Service["dialect"],
  strictBodies: boolean,
): Decode | undefined {
  if (body === undefined || body.kind === "raw" || body.kind === "stream") return undefined;
  // Whoever may send longer documents than is usual may send heavier ones.
  const mayBeHeavy = body.kind === "json" && body.maxBytes !== undefined;
  const json = dialect === "fastapi" ? jsonOrText : jsonOnly(mayBeHeavy);
  if (body.kind === "json") return json;
  if (body.kind === "form") return formFields;
  const { formIsStandard } = body;
  if (strictBodies && !formIsStandard) return json;
  return (bytes, type, finding) => {
    if (!isFormType(type)) return json(bytes, type, finding);
    if (!formIsStandard) finding("form-body", "the specification declares JSON alone");
    const sent = fieldsOf(bytes);
    const name = repeatedParameter(sent);
    if (name !== undefined) throw new UnreadableBody({ why: "repeated", name });
    return fields(lastValues(sent), bytes.length);
  };
}

/** FastAPI: what is not sent as JSON reaches validation as one string (DECISIONS.md, P13). */
const jsonOrText: Decode = (bytes, type) => {
  if (bytes.length === 0) return nothing;
  if (isJsonType(type)) return readJson(bytes, decodeJsonBytes);
  return plain(readText(bytes, decodeUtf8), bytes.length);
};

/** Others refuse what is not sent as JSON. */
const jsonOnly =
  (mayBeHeavy: boolean): Decode =>
  (bytes, type) => {
    if (bytes.length === 0) return nothing;
    if (!isJsonType(type)) throw new UnreadableBody({ why: "media-type", type: type ?? "" });
    return readJson(bytes, decodeUtf8, mayBeHeavy);
  };

/** A form model sees an empty form where none was sent. */
const formFields: Decode = async (bytes, type) => {
  if (isFormType(type)) return fields(lastValues(fieldsOf(bytes)), bytes.length);
  if (!isMultipartType(type)) return fields({}, 0);
  try {
    return fields(await parseMultipart(bytes, type ?? ""), bytes.length);
  } catch (error) {
    if (error instanceof TooManyParts) throw new UnreadableBody({ why: "parts" });
    throw new UnreadableBody({ why: error instanceof MissingBoundary ? "boundary" : "encoding" });
  }
};

function fieldsOf(bytes: Buffer): Fields {
  const text = bytes.toString("utf8");
  if (hasTooManyFields(text)) {
    throw new UnreadableBody({ why: "limit", message: `of more than ${heaviest.fields} fields` });
  }
  return parseFields(text);
}

function readText(bytes: Buffer, decode: (bytes: Buffer) => string): string {
  try {
    return decode(bytes);
  } catch (error) {
    if (error instanceof EncodingError) throw new UnreadableBody({ why: "encoding" });
    throw error;
  }
}

function readJson(bytes: Buffer, decode: (bytes: Buffer) => string, mayBeHeavy = false): Decoded {
  const text = readText(bytes, decode);
  try {
    return parseJson(text, mayBeHeavy);
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw new UnreadableBody({ why: "json", message: error.message, ...placeOf(text, error.at) });
    }
    if (error instanceof JsonLimitError) throw new UnreadableBody({ why: "limit", message: error.message });
    throw error;
  }
}
