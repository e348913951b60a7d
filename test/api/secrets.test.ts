import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type * as z from "zod";
import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import {
  findSecretsInUrl,
  isSecretName,
  nonSecretNames,
  redactText,
  redactUrl,
  secretPathPrefixes,
} from "../../src/api/secrets.ts";
import { measureCostRatio } from "../support/cost-ratio.ts";

const secret = "s3cr3t-value";

/** The names of all parameters and fields of a request. */
function collectFieldNames(schema: z.ZodType | undefined, names = new Set<string>()): ReadonlySet<string> {
  const def = (schema as { _zod?: { def: Record<string, unknown> } } | undefined)?._zod?.def;
  if (!def) return names;
  for (const [name, inner] of Object.entries((def.shape as Record<string, z.ZodType>) ?? {})) {
    names.add(name);
    collectFieldNames(inner, names);
  }
  const below = [
    def.innerType,
    def.element,
    def.in,
    def.valueType,
    def.left,
    def.right,
    ...((def.options as []) ?? []),
  ];
  for (const inner of below) collectFieldNames(inner as z.ZodType, names);
  return names;
}

const operations = registry as readonly Operation[];
const requestFieldNames = new Set(
  operations.flatMap(({ request: { params, query, headers, body } }) =>
    [params, query, headers, body && "schema" in body ? body.schema : undefined].flatMap((schema) => [
      ...collectFieldNames(schema),
    ]),
  ),
);

describe("list of secret names", () => {
  it("includes every secret in the declarations", () =>
    assert.deepEqual([...requestFieldNames].filter(isSecretName).sort(), [
      "X-Sig-Signature",
      "captcha",
      "client_secret",
      "code",
      "code_verifier",
      "cp_tokens",
      "creator_tokens",
      "device_code",
      "form_token",
      "refresh_token",
      "signed_request",
      "state",
      "token",
      "tokens",
      "user_code",
      "user_codes",
      "x-crm-a-signature",
    ]));

  it("excludes only declared names", () =>
    assert.deepEqual(
      [...nonSecretNames].filter((name) => !requestFieldNames.has(name) || isSecretName(name)),
      [],
    ));

  it("matches exactly the declared secret path segments", () => {
    const pathPrefixes = operations.flatMap(({ path }) => {
      const parts = path.split("/");
      return parts.flatMap((part, i) => {
        const name = part.slice(1, -1);
        return /^\{/.test(part) && isSecretName(name) ? [[parts[i - 1]!, name] as const] : [];
      });
    });
    assert.deepEqual(new Map(pathPrefixes), secretPathPrefixes);
  });
});

describe("URL redaction", () => {
  for (const [url, redacted] of [
    ["/a?x=1&X-Sig-Signature=s&token=t&y", "/a?x=1&X-Sig-Signature=[redacted]&token=[redacted]&y"],
    ["/a?code=c&state=eu-1_s&email=e", "/a?code=[redacted]&state=[redacted]&email=e"],
    ["/invite/by_token/s3cr3t", "/invite/by_token/[redacted]"],
    ["/invite/by_token%2Fs3cr3t/x", "/invite/by_token%2F[redacted]/x"],
    ["/invite/by_token%252Fs3cr3t", "/invite/by_token%252F[redacted]"],
    ["/invite/BY%5Ftoken//s3cr3t", "/invite/BY%5Ftoken//[redacted]"],
    ["/a?to%6ben=s&token=s&%2574oken=s", "/a?to%6ben=[redacted]&token=[redacted]&%2574oken=[redacted]"],
    [
      "/a?filter[token]=s&a.client_secret=s&token[]=s",
      "/a?filter[token]=[redacted]&a.client_secret=[redacted]&token[]=[redacted]",
    ],
    ["/a?next=%2Fby_token%2Fs", "/a?next=[redacted]"],
    ["/a?next=http%3A%2F%2Fb%3Fcode%3Ds", "/a?next=[redacted]"],
    ["/a;token=s/b#id_token=s", "/a;token=[redacted]/b#id_token=[redacted]"],
    ["http://me:pass@host/a", "http://[redacted]@host/a"],
    [
      "/api/contracts/T-1/status?page=2&jurisdiction_iso_code=GB",
      "/api/contracts/T-1/status?page=2&jurisdiction_iso_code=GB",
    ],
    ["/a?%zz=%&x", "/a?%zz=%&x"],
  ] as const) {
    it(`redacts a URL as ${redacted}`, () => assert.equal(redactUrl(url), redacted));
  }

  it("hides all parameters on request", () =>
    assert.equal(redactUrl("/a?x=1&x=2&y#z=3", { mask: "…", allParameters: true }), "/a?x=…&x=…&y#z=…"));

  it("lists the decoded secrets of a URL", () =>
    assert.deepEqual(findSecretsInUrl("http://h/by_token/a%20b?token=c+d&x=1&code=%C3%A9"), ["a b", "c d", "é"]));
});

describe("string redaction", () => {
  for (const [text, redacted] of [
    [`no access for Bearer ${secret}, sorry`, "no access for Bearer [redacted], sorry"],
    ["a token that is not a bearer token.", "a token that is not a bearer token."],
    ["Basic credentials, or bearer tokens", "Basic credentials, or bearer tokens"],
    ["Bearer token.s3cr3t", "Bearer [redacted]"],
    ["Bearer tokens3cr3t, Basic credentials==", "Bearer [redacted], Basic [redacted]"],
    ["Bearer secretword", "Bearer [redacted]"],
    [`GET /x/by_token/${secret}?a=1 failed`, "GET /x/by_token/[redacted]?a=1 failed"],
    [`refused token=${secret}; client_id=app`, "refused token=[redacted]; client_id=app"],
    [`{"client_secret": "${secret}","title":"x"}`, '{"client_secret": "[redacted]","title":"x"}'],
    [`{"a":"{\\"token\\":\\"${secret}\\"}"}`, '{"a":"{\\"token\\":\\"[redacted]\\"}"}'],
    [`{'code': '${secret}' and 'state': '${secret}`, "{'code': '[redacted]' and 'state': '[redacted]"],
    ['{"code": "contract_not_found"}', '{"code": "contract_not_found"}'],
    ['{"code":"SVC_ASSUMED_114","message":"m"}', '{"code":"SVC_ASSUMED_114","message":"m"}'],
    [`{"code": "${"q".repeat(27)}"}`, '{"code": "[redacted]"}'],
    ["File http://ci:p4ssw0rd@host/x not found", "File http://[redacted]@host/x not found"],
    ["body.token: This field is required.", "body.token: This field is required."],
  ] as const) {
    it(`redacts a string as ${redacted}`, () => assert.equal(redactText(text), redacted));
  }

  it("runs in linear time", async () => {
    for (const piece of ["a", "=", '"', "\\", "/", "//", "%25", "token=", '"token":"', "by_token/", "bearer ", "://"]) {
      const redact = (length: number) => () => {
        const text = piece.repeat(length / piece.length);
        redactText(text);
        redactUrl(`/${text}?${text}`);
      };
      // A linear run takes 8 times as long for 8 times the input, a quadratic run 64 times.
      const times = await measureCostRatio(redact(200_000), redact(25_000), 24);
      assert.ok(times < 24, `${piece}: ${times} times as long`);
    }
  });
});
