import type { Failure } from "../../api/failure.ts";
import { type FailureCode, failures } from "../../api/failures.ts";
import { isOAuthRequest, type Operation } from "../../api/operation.ts";
import { basisOf } from "./basis.ts";
import type { Json } from "./schemas.ts";
import { failureShapes } from "./shapes.ts";

/** The failures that an operation may answer with: its own, its cluster's, and those of its service that can happen to it. */
export const collectFailures = (operation: Operation): FailureCode[] => [
  ...new Set([
    ...operation.failures,
    ...(operation.clusterFailures ?? []),
    ...operation.service.failures.filter((code) => canHappen(catalogue[code], operation)),
  ]),
];

/** A service declares its failures for all operations; these rules leave out what a given one cannot meet. */
function canHappen({ status }: Failure<unknown>, { auth, request }: Operation): boolean {
  if (status === 401 || status === 403) return auth !== "none";
  // An answer to another method of the same path.
  if (status === 405) return false;
  if (status === 413 || status === 415) return request.body !== undefined;
  if ((status === 400 || status === 422) && isOAuthRequest(request.body)) return false;
  if (status === 400 || status === 422) return Object.values(request).some((part) => part !== undefined);
  return true;
}

/** One response per status, since OpenAPI keys them so; failures that share it are told apart by their examples. */
export function failureResponses(operation: Operation): Record<string, Json> {
  const byStatus = new Map<number, FailureCode[]>();
  for (const code of collectFailures(operation)) {
    const { status } = catalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, responseOf(codes)]));
}

function responseOf(codes: readonly FailureCode[]): Json {
  const forms = [...new Set(codes.map((code) => catalogue[code].shape))];
  const mediaTypes = [...new Set(forms.map((form) => failureShapes[form].mediaType))];
  return {
    description: codes.map((code) => `${code}: ${catalogue[code].when}.`).join("\n"),
    content: Object.fromEntries(
      mediaTypes.map((mediaType) => {
        const ofType = forms.filter((form) => failureShapes[form].mediaType === mediaType);
        const refs = ofType.map((form) => ({ $ref: `#/components/schemas/${failureShapes[form].name}` }));
        const told = codes.filter((code) => ofType.includes(catalogue[code].shape));
        return [
          mediaType,
          {
            // Not oneOf: a domain error is a detail as well, and any object may be field errors.
            schema: refs.length === 1 ? refs[0] : { anyOf: refs },
            examples: Object.fromEntries(
              told.map((code) => [code, { summary: catalogue[code].when, value: buildSample(catalogue[code]) }]),
            ),
          },
        ];
      }),
    ),
    "x-failures": codes.map((code) => ({ code, when: catalogue[code].when, ...basisOf(catalogue[code].basis) })),
  };
}

/** A body of the failure, with `<name>` where the words need to know something. */
export function buildSample(failure: Failure<unknown>): unknown {
  const data = new Proxy({}, { get: (_, name) => (typeof name === "string" ? `<${name}>` : undefined) });
  try {
    const body = failure.body(data);
    // Bodies that are handed in whole, such as validation errors, have no words of their own.
    const known = JSON.stringify(body);
    return known === undefined || known === "{}" || known.includes("{}") ? failureShapes[failure.shape].sample : body;
  } catch {
    return failureShapes[failure.shape].sample;
  }
}

const catalogue = failures as Readonly<Record<FailureCode, Failure<unknown>>>;
