import { assumed } from "../basis.ts";
import { detail, type Failure } from "../failure.ts";

/** One item of FastAPI's validation error, its keys in the order of the wire. */
export interface ValidationItem {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

const validation: Failure<readonly ValidationItem[]> = {
  status: 422,
  shape: "validation",
  when: "the path, query, headers or body are not as declared",
  basis: "specified",
  body: (items) => ({ detail: items }),
};

export const routerFailures = {
  validation,
  "unparsable-body": detail({
    status: 400,
    when: "the body is not UTF-8, or is nested too deeply",
    basis: "public",
    says: "There was an error parsing the body",
  }),
  "body-too-large": detail({
    status: 413,
    when: "the body is larger than 64 MiB",
    basis: assumed("The specification names no limit; the emulator needs one."),
    says: "Request body is too large",
  }),
  "store-failed": detail({
    status: 503,
    when: "the state cannot be written to disk",
    basis: assumed("A service that cannot write answers that it is unavailable."),
    says: "The service cannot write its state",
  }),
};
