import type { Basis } from "../basis.ts";
import type { Failure } from "../failure.ts";

/** The last fields of each error document of the storage. */
interface Ids {
  readonly requestId: string;
  readonly hostId: string;
}

interface StorageFailure<Data> {
  readonly status?: number;
  readonly when: string;
  readonly basis?: Basis;
  readonly code: string | ((data: Data) => string);
  readonly says: string | ((data: Data) => string);
  /** Returns further fields of the document. */
  readonly fields?: (data: Data) => Readonly<Record<string, string>>;
}

/** Declares an error document of the S3 style with neutral names (DECISIONS.md, P17). */
const defineStorageFailure = <Data = unknown>({
  status = 400,
  when,
  basis = "public",
  code,
  says,
  fields,
}: StorageFailure<Data>): Failure<Ids & Data> => ({
  status,
  shape: "xml",
  when,
  basis,
  headers: () => ({ "content-type": "application/xml", "access-control-allow-origin": "*" }),
  body(data) {
    const all = {
      Code: typeof code === "string" ? code : code(data),
      Message: typeof says === "string" ? says : says(data),
      ...fields?.(data),
      RequestId: data.requestId,
      HostId: data.hostId,
    };
    const elements = Object.entries(all).map(([name, text]) => `<${name}>${escapeXml(text)}</${name}>`);
    return `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${elements.join("")}</Error>`;
  },
});

const escapeXml = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

interface DigestProblem {
  readonly code: string;
  readonly message: string;
}

export const storageFailures = {
  "storage-two-mechanisms": defineStorageFailure({
    when: "an authorization header is sent in addition to the signature of the URL",
    code: "InvalidArgument",
    says: "Only one auth mechanism allowed; only the X-Sig-Signature query parameter or the Authorization header should be specified",
    fields: () => ({ ArgumentName: "Authorization" }),
  }),
  "storage-expired": defineStorageFailure({
    status: 403,
    when: "the signed URL has expired",
    code: "AccessDenied",
    says: "Request has expired",
    fields: ({ lifetimeSeconds, expires, now }: { lifetimeSeconds: number; expires: string; now: string }) => ({
      "X-Expires": String(lifetimeSeconds),
      Expires: expires,
      ServerTime: now,
    }),
  }),
  "storage-signature-mismatch": defineStorageFailure({
    status: 403,
    when: "the URL was altered, is for another method, or the Content-Type differs from that of the initialization",
    code: "SignatureDoesNotMatch",
    says: "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
  }),
  "storage-unsigned-headers": defineStorageFailure({
    status: 403,
    when: "an x-amz-… header is sent that does not describe the bytes, such as x-amz-acl",
    code: "AccessDenied",
    says: "There were headers present in the request which were not signed",
    fields: ({ headers }: { headers: readonly string[] }) => ({ HeadersNotSigned: headers.join(", ") }),
  }),
  "storage-no-such-key": defineStorageFailure({
    status: 404,
    when: "nothing has been uploaded yet",
    code: "NoSuchKey",
    says: "The specified key does not exist.",
    fields: ({ key }: { key: string }) => ({ Key: key }),
  }),
  "storage-too-large": defineStorageFailure({
    when: "more than 5 GiB are sent",
    basis: { assumed: "The limit of the emulated storage." },
    code: "EntityTooLarge",
    says: "Your proposed upload exceeds the maximum allowed size",
    fields: ({ maxBytes }: { maxBytes: number }) => ({ MaxSizeAllowed: String(maxBytes) }),
  }),
  "storage-bad-digest": defineStorageFailure<DigestProblem>({
    when: "the bytes do not match Content-MD5, x-amz-checksum-… or x-amz-content-sha256",
    code: ({ code }) => code,
    says: ({ message }) => message,
  }),
  "storage-invalid-digest": defineStorageFailure<DigestProblem>({
    when: "a checksum header is malformed, names an unknown algorithm, or x-amz-checksum-… is repeated",
    code: ({ code }) => code,
    says: ({ message }) => message,
  }),
  "storage-incomplete-body": defineStorageFailure({
    when: "an aws-chunked body is malformed, or its length differs from the announced one",
    code: "IncompleteBody",
    says: ({ message }: { message: string }) => message,
  }),
  "storage-credentials": defineStorageFailure({
    when: "client-id or client-secret is sent, under --strict=storage",
    basis: { assumed: "The specification forbids these headers. A storage would ignore them." },
    code: "InvalidRequest",
    says: "The headers client-id and client-secret must not be sent to a signed URL.",
  }),
  "storage-store-failed": defineStorageFailure({
    status: 503,
    when: "the state cannot be written to disk",
    basis: { assumed: "A service that cannot write responds that it is unavailable." },
    code: "ServiceUnavailable",
    says: "The storage cannot write its state.",
  }),
};
