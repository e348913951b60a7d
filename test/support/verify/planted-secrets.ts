import { gzipSync } from "node:zlib";
import type { RecordedRequest, RecordedResponse } from "../../../src/verify/exchange.ts";

export const json = (value: unknown) => Buffer.from(JSON.stringify(value));
export const base64 = (text: string) => Buffer.from(text).toString("base64");
const jwt = (claims: object) =>
  `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2lnbmF0dXJlLW9mLWEtand0LTEyMw`;

export const path = "/api/v2.1/public/contracts/";
const multipart = Buffer.from(
  [
    '--b0undary\r\nContent-Disposition: form-data; name="signer"\r\n\r\nQuentin Marlowe\r\n',
    '--b0undary\r\nContent-Disposition: form-data; name="api_key"\r\n\r\npk-multi-9912\r\n',
    '--b0undary\r\nContent-Disposition: form-data; name="file"; filename="Lebowski passport.pdf"\r\nContent-Type: application/pdf\r\n\r\n%PDF-1.4 Jeffrey Lebowski, 1 Venice Beach\r\n',
    '--b0undary\r\nContent-Disposition: form-data; name="data"; filename="a.json"\r\nContent-Type: application/json\r\n\r\n{"email":"dude@lebowski.org"}\r\n',
    "--b0undary--\r\n",
  ].join(""),
);

/** Forty secrets and people that must not be in any file. */
export const plantedSecrets = [
  ["Zelda", "Fitzgerald", "zelda.fitzgerald@acme.com", "+49 30 1234567", "hunter2-in-header"],
  [
    "1f0c9f3e-77aa-4d4e-9f3e-3c4d4d4e9f3e",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "s3cr3t-client-value",
    "Okonkwo",
    "c00kie-session-value",
  ],
  ["basic-user-77", "basic-pass-88", "jwt.person@corp.io", "Persephone", "Marlowe"],
  ["pk-multi-9912", "Lebowski", "Venice", "dude@lebowski.org", "9f2c1a7b3d5e8f60123456789abcdef0"],
  ["token-in-query-123", "query.person@acme.com", "X9kQ2vR7tB4mW8yZ1pL5", "refresh-token-abc987", "Guildenstern"],
  [
    "nested.in.base64@acme.com",
    "Rosencrantz",
    "deadbeefcafebabe0123456789abcdef",
    "signed-url-sig-555",
    "acme-internal.corp",
  ],
  ["Featherstonehaugh", "4111111111111111", "gzip.person@acme.com", "form-password-1", "form.person@acme.com"],
  ["Ottoline", "webhook-hash-0123", "device-code-4242", "path.person@acme.com", "Wolfeschlegel"],
].flat();

export const plantedExchanges: readonly (readonly [request: RecordedRequest, response: RecordedResponse])[] = [
  [
    {
      method: "POST",
      target: `${path}?user_email=query.person%40acme.com&access_token=token-in-query-123`,
      headers: [
        ["content-type", "application/json"],
        ["client-id", "1f0c9f3e-77aa-4d4e-9f3e-3c4d4d4e9f3e"],
        ["client-secret", "s3cr3t-client-value"],
        ["x-api-key", "hunter2-in-header"],
        ["x-sales-person", "Chidi Okonkwo"],
        ["cookie", "sid=c00kie-session-value; lang=de"],
        ["authorization", `Bearer ${jwt({ sub: "jwt.person@corp.io", name: "Persephone Marlowe" })}`],
      ],
      body: json({
        contract_name: "Deal of Zelda Fitzgerald with Ottoline",
        counter_party_details: [
          {
            poc_details: {
              first_name: "Zelda",
              last_name: "Fitzgerald",
              email: "zelda.fitzgerald@acme.com",
              phone: "+49 30 1234567",
            },
          },
        ],
        note: "Ask Featherstonehaugh; card 4111111111111111",
        key: "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        reference: "X9kQ2vR7tB4mW8yZ1pL5",
        attachment: base64(JSON.stringify({ person: "Rosencrantz", mail: "nested.in.base64@acme.com" })),
        callback: "https://hooks.acme-internal.corp/in/Wolfeschlegel?X-Amz-Signature=signed-url-sig-555",
        digest: "9f2c1a7b3d5e8f60123456789abcdef0",
      }),
    },
    {
      status: 400,
      headers: [
        ["content-type", "application/json"],
        ["set-cookie", "csrf=deadbeefcafebabe0123456789abcdef; Path=/"],
      ],
      body: json({ detail: "The user Zelda Fitzgerald (zelda.fitzgerald@acme.com) asked Guildenstern about it." }),
    },
  ],
  [
    {
      method: "POST",
      target: "/api/v2.1/public/contracts/upload_sign_contracts/",
      headers: [
        ["content-type", "multipart/form-data; boundary=b0undary"],
        ["authorization", `Basic ${base64("basic-user-77:basic-pass-88")}`],
      ],
      body: multipart,
    },
    {
      status: 200,
      headers: [
        ["content-type", "application/json"],
        ["content-encoding", "gzip"],
      ],
      body: gzipSync(
        json({ signer: { name: "Persephone", email: "gzip.person@acme.com" }, refresh_token: "refresh-token-abc987" }),
      ),
    },
  ],
  [
    {
      method: "POST",
      target: "/router/v1/lookup/path.person@acme.com",
      headers: [
        ["content-type", "application/x-www-form-urlencoded"],
        ["x-svc-webhook-content-hash", "webhook-hash-0123"],
      ],
      body: Buffer.from("username=form.person%40acme.com&password=form-password-1&device_code=device-code-4242"),
    },
    {
      status: 200,
      headers: [["content-type", "text/html"]],
      body: Buffer.from('<p title="Ottoline">Hello Persephone Marlowe</p>'),
    },
  ],
];
