import { createAssumption } from "../basis.ts";
import type { Failure } from "../failure.ts";

/** The last fields of each error document of the storage. */
interface Ids {
  readonly requestId: string;
  readonly hostId: string;
}

const xml = { "content-type": "application/xml", "access-control-allow-origin": "*" } as const;

/** Renders an error document of the S3 style with neutral names (DECISIONS.md, P17). */
const renderErrorDocument = (
  code: string,
  message: string,
  extra: Readonly<Record<string, string>>,
  ids: Ids,
): string => {
  const all = { Code: code, Message: message, ...extra, RequestId: ids.requestId, HostId: ids.hostId };
  const elements = Object.entries(all).map(([name, text]) => `<${name}>${escapeXml(text)}</${name}>`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${elements.join("")}</Error>`;
};

const escapeXml = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

const expired: Failure<Ids & { lifetimeSeconds: number; expires: string; now: string }> = {
  status: 403,
  shape: "xml",
  when: "the signed URL has expired",
  basis: "public",
  headers: () => xml,
  body: ({ lifetimeSeconds, expires, now, ...ids }) =>
    renderErrorDocument(
      "AccessDenied",
      "Request has expired",
      { "X-Expires": String(lifetimeSeconds), Expires: expires, ServerTime: now },
      ids,
    ),
};

const signatureMismatch: Failure<Ids> = {
  status: 403,
  shape: "xml",
  when: "the URL was altered, is for another method, or the Content-Type differs from that of the initialization",
  basis: "public",
  headers: () => xml,
  body: (ids) =>
    renderErrorDocument(
      "SignatureDoesNotMatch",
      "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
      {},
      ids,
    ),
};

const noSuchKey: Failure<Ids & { key: string }> = {
  status: 404,
  shape: "xml",
  when: "nothing has been uploaded yet",
  basis: "public",
  headers: () => xml,
  body: ({ key, ...ids }) => renderErrorDocument("NoSuchKey", "The specified key does not exist.", { Key: key }, ids),
};

const entityTooLarge: Failure<Ids & { maxBytes: number }> = {
  status: 400,
  shape: "xml",
  when: "more than 5 GiB are sent",
  basis: createAssumption("The limit of the emulated storage."),
  headers: () => xml,
  body: ({ maxBytes, ...ids }) =>
    renderErrorDocument(
      "EntityTooLarge",
      "Your proposed upload exceeds the maximum allowed size",
      { MaxSizeAllowed: String(maxBytes) },
      ids,
    ),
};

const badDigest: Failure<Ids & { code: string; message: string }> = {
  status: 400,
  shape: "xml",
  when: "the bytes do not match Content-MD5, x-amz-checksum-… or x-amz-content-sha256",
  basis: "public",
  headers: () => xml,
  body: ({ code, message, ...ids }) => renderErrorDocument(code, message, {}, ids),
};

const invalidDigest: Failure<Ids & { code: string; message: string }> = {
  status: 400,
  shape: "xml",
  when: "a checksum header is malformed, names an unknown algorithm, or x-amz-checksum-… is repeated",
  basis: "public",
  headers: () => xml,
  body: ({ code, message, ...ids }) => renderErrorDocument(code, message, {}, ids),
};

const incompleteBody: Failure<Ids & { message: string }> = {
  status: 400,
  shape: "xml",
  when: "an aws-chunked body is malformed, or has another length than announced",
  basis: "public",
  headers: () => xml,
  body: ({ message, ...ids }) => renderErrorDocument("IncompleteBody", message, {}, ids),
};

const credentialsOnStorage: Failure<Ids> = {
  status: 400,
  shape: "xml",
  when: "client-id or client-secret is sent, under --strict=storage",
  basis: createAssumption("The specification forbids these headers. A storage would ignore them."),
  headers: () => xml,
  body: (ids) =>
    renderErrorDocument(
      "InvalidRequest",
      "The headers client-id and client-secret must not be sent to a signed URL.",
      {},
      ids,
    ),
};

const storeFailed: Failure<Ids> = {
  status: 503,
  shape: "xml",
  when: "the state cannot be written to disk",
  basis: createAssumption("A service that cannot write responds that it is unavailable."),
  headers: () => xml,
  body: (ids) => renderErrorDocument("ServiceUnavailable", "The storage cannot write its state.", {}, ids),
};

export const storageFailures = {
  "storage-expired": expired,
  "storage-signature-mismatch": signatureMismatch,
  "storage-no-such-key": noSuchKey,
  "storage-too-large": entityTooLarge,
  "storage-bad-digest": badDigest,
  "storage-invalid-digest": invalidDigest,
  "storage-incomplete-body": incompleteBody,
  "storage-credentials": credentialsOnStorage,
  "storage-store-failed": storeFailed,
};
