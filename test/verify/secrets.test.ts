import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { RecordedRequest, RecordedResponse } from "../../src/verify/exchange.ts";
import { scanCorpus } from "../../src/verify/scan.ts";
import { base64, json, path, plantedExchanges, plantedSecrets } from "../support/verify/planted-secrets.ts";
import { createExchange, createRequest, recordAll } from "../support/verify/recorded-corpus.ts";

describe("corpus with 40 planted secrets and personal data", () => {
  it("contains no secret in any encoding", async (t) => {
    const corpus = await recordAll(t, plantedExchanges);
    const { folder } = corpus;
    const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    // JSON escapes quotes and line breaks, so the bodies are searched as they were sent, too.
    const bodies = corpus.exchanges.flatMap(({ request, response }) => [String(request.body), String(response.body)]);
    const all = [...texts, ...bodies].join("\n");
    // Includes the content of base64 and percent-encoding.
    const inner = [...all.matchAll(/[A-Za-z0-9+/_-]{12,}/g)].map(([text]) => Buffer.from(text, "base64").toString());
    const searchedText = [all, decodeURIComponent(all.replace(/%(?![0-9A-F]{2})/gi, "%25")), ...inner]
      .join("\n")
      .toLowerCase();
    assert.equal(plantedSecrets.length, 40);
    assert.deepEqual(
      plantedSecrets.filter((secret) => searchedText.includes(secret.toLowerCase())),
      [],
    );
    assert.deepEqual(scanCorpus(corpus), []);
  });

  it("is reported by a scan if it was not sanitized", () => {
    assert.deepEqual(plantedExchanges.map(scanExchange), [
      [
        "query user_email",
        "query access_token",
        "request body contract_name",
        "request body counter_party_details.poc_details.first_name",
        "request body counter_party_details.poc_details.last_name",
        "request body counter_party_details.poc_details.email",
        "request body counter_party_details.poc_details.phone",
        "request body note",
        "request body key",
        "request body reference",
        "request body attachment person",
        "request body attachment mail",
        "request body callback X-Amz-Signature",
        "request body digest",
        "request header client-id",
        "request header client-secret",
        "request header x-api-key",
        "request header cookie",
        "request header authorization sub",
        "request header authorization name",
        "request header authorization",
        "response body detail",
        "response header set-cookie",
      ],
      [
        "request body signer",
        "request body api_key",
        "request body",
        "request body email",
        "request header authorization",
        "response body signer.name",
        "response body signer.email",
        "response body refresh_token",
      ],
      [
        "path",
        "request body username",
        "request body password",
        "request body device_code",
        "request header x-svc-webhook-content-hash",
      ],
    ]);
  });

  it("uses the same stand-in for each secret everywhere", async (t) => {
    const [first] = (await recordAll(t, plantedExchanges)).exchanges;
    const sent = JSON.parse(first!.request.body.toString());
    const { first_name, last_name, email } = sent.counter_party_details[0].poc_details;
    const { detail } = JSON.parse(first!.response.body.toString());
    assert.ok(detail.startsWith(`The user ${first_name} ${last_name} (${email}) asked `), detail);
    assert.ok(sent.contract_name.includes(`${first_name} ${last_name}`), sent.contract_name);
  });
});

const returns = (status: number, type: string, body: string) =>
  createExchange({ method: "GET" }, { status, headers: [["content-type", type]], body: Buffer.from(body) });

/** The only file of a corpus with this exchange and its bodies as they were sent, and the findings of its scan. */
async function recordExchange(t: TestContext, exchange: readonly [RecordedRequest, RecordedResponse]) {
  const corpus = await recordAll(t, [exchange]);
  const { file, request, response } = corpus.exchanges[0]!;
  const text = [await readFile(join(corpus.folder, file), "utf8"), request.body, response.body].join("\n");
  return { text: decodeURIComponent(text), found: scanCorpus(corpus) };
}

/** The findings of a scan of an unsanitized file. */
const scanExchange = ([request, response]: readonly [RecordedRequest, RecordedResponse]) =>
  scanCorpus({
    folder: "",
    digest: "",
    isEnded: true,
    exchanges: [{ file: "", callee: "contracts", operation: undefined, at: 0, request, response }],
  }).map(({ place: location }) => location);

const boundary = "----WebKitFormBoundary7MA4YWxkTrZu0gW9";
const form = (name: string, value: string) =>
  createRequest(
    `multipart/form-data; boundary=${boundary}`,
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--${boundary}--\r\n`,
  );

/** A secret by the name of its field, and the position at which a scan finds it. */
const namedSecrets: Readonly<
  Record<string, readonly [readonly [RecordedRequest, RecordedResponse], secret: string, place: string]>
> = {
  "a one-time password": [createRequest("application/json", '{"otp":"998877"}'), "998877", "request body otp"],
  "a bearer token in a text": [
    createRequest("application/json", '{"note":"send Bearer DEMOTOKEN88888"}'),
    "88888",
    "request body note",
  ],
  "a verification code": [
    createRequest("application/json", '{"verification_code":"123456"}'),
    "123456",
    "request body verification_code",
  ],
  "an access code in camel case": [
    createRequest("application/json", '{"accessCode":"ABC"}'),
    "ABC",
    "request body accessCode",
  ],
  "a secret answer": [
    createRequest("application/json", '{"secret_answer":"contract"}'),
    '"contract"',
    "request body secret_answer",
  ],
  "a card security code": [createRequest("application/json", '{"cvv":"123"}'), "123", "request body cvv"],
  "a PIN that is a number": [createRequest("application/json", '{"pin":4711}'), "4711", "request body pin"],
  "the header X-Otp": [createExchange({ headers: [["X-Otp", "998877"]] }), "998877", "request header X-Otp"],
  "the header X-Pin": [createExchange({ headers: [["X-Pin", "4711"]] }), "4711", "request header X-Pin"],
  "a PIN in a query": [createExchange({ target: `${path}?pin=4711` }), "4711", "query pin"],
  "the code of a redirect": [
    createExchange({}, { status: 302, headers: [["location", "https://host.example/cb?code=hunterloc"]] }),
    "hunterloc",
    "response header location code",
  ],
  "the code of a redirect behind a fragment": [
    createExchange({}, { status: 302, headers: [["location", "/app#/cb?code=hunterloc"]] }),
    "hunterloc",
    "response header location code",
  ],
  "the code of a query": [createExchange({ target: `${path}?code=hunterquery` }), "hunterquery", "query code"],
  "the code of a form": [
    createRequest("application/x-www-form-urlencoded", "grant_type=authorization_code&code=hunterdoor"),
    "hunterdoor",
    "request body code",
  ],
  "the code of a multipart form": [form("code", "hunterdoor"), "hunterdoor", "request body code"],
  "the code of a URL within JSON": [
    returns(200, "application/json", '{"link":"reset?code=abcdefabcdef"}'),
    "abcdefabcdef",
    "response body link code",
  ],
  "the code of a URL within an error": [
    returns(400, "application/json", '{"detail":"See /reset?code=abcdefabcdef"}'),
    "abcdefabcdef",
    "response body detail code",
  ],
  "the code of a JSON request": [
    createRequest("application/json", '{"grant_type":"authorization_code","code":"hunterdoor"}'),
    "hunterdoor",
    "request body code",
  ],
  "a password in XML": [
    createRequest("application/xml", "<a>\n<password>contract-status-42</password></a>"),
    "contract-status-42",
    "request body password",
  ],
  "a PIN in XML": [createRequest("application/xml", "<a><ns:pin>4711</ns:pin></a>"), "4711", "request body pin"],
  "a password in an XML CDATA section": [
    createRequest("application/xml", "<password><![CDATA[contract\nstatus]]></password>"),
    "contract\nstatus",
    "request body password",
  ],
  "an XML attribute": [
    createRequest("application/xml", "<login password='contract-status'/>"),
    "contract-status",
    "request body password",
  ],
  "a field of an HTML form": [
    returns(200, "text/html", '<input name="pin" value="4711">'),
    "4711",
    "response body pin",
  ],
  "a line of text": [
    returns(200, "text/plain", "Hello\nPassword: summer-status-active\n"),
    "summer-status-active",
    "response body Password",
  ],
  "a line within JSON": [
    returns(200, "application/json", '{"note":"Password: contract status"}'),
    "contract status",
    "response body note Password",
  ],
  "a realm": [
    createExchange({}, { status: 401, headers: [["www-authenticate", 'Basic realm="zebulonrealm"']] }),
    "zebulonrealm",
    "response header www-authenticate",
  ],
  "a cookie without a name": [
    createExchange({ headers: [["cookie", "hunterdoor; theme=dark"]] }),
    "hunterdoor",
    "request header cookie",
  ],
  "a cookie without a name in a response": [
    createExchange({}, { headers: [["set-cookie", "hunterdoor; Path=/; Secure"]] }),
    "hunterdoor",
    "response header set-cookie",
  ],
  "credentials of a URL": [
    createRequest("application/json", '{"hook":"https://jane:hunterdoor@acme.com/in"}'),
    "hunterdoor",
    "request body hook",
  ],
  "credentials of a database URL in an error": [
    returns(500, "application/json", '{"detail":"Cannot open postgres://jane:hunterdoor@db:5432/crm"}'),
    "hunterdoor",
    "response body detail",
  ],
  "a line of JSON with markup": [
    returns(200, "application/x-ndjson", '{"note":"1 <b","password":"hunterdoor"}\n{"note":"2> c"}\n'),
    "hunterdoor",
    "response body password",
  ],
  "an event of a stream with markup": [
    returns(200, "text/event-stream", 'data: {"note":"<a href=x","pin":4711}\n\ndata: {"note":"y>"}\n\n'),
    "4711",
    "response body pin",
  ],
  "an address in angle brackets": [
    returns(500, "text/plain", "The message to <jane@acme.com> was rejected"),
    "jane@acme.com",
    "response body",
  ],
  "a comment in markup": [
    returns(200, "text/html", "<!-- password=hunterdoor --><p>Hello</p>"),
    "hunterdoor",
    "response body password",
  ],
  "an attribute without quotes": [
    returns(200, "text/html", "<input name=pin value=4711>"),
    "4711",
    "response body pin",
  ],
  "an address in an XML attribute": [
    createRequest("application/xml", '<to mailbox="jane@acme.com"/>'),
    "jane@acme.com",
    "request body mailbox",
  ],
  "an address as a file name": [
    createExchange({}, { headers: [["content-disposition", "attachment; filename=jane@acme.com"]] }),
    "jane@acme",
    "response header content-disposition",
  ],
  "an encoded address in an error": [
    returns(404, "application/json", '{"detail":"No page /of/jane%40acme.com/"}'),
    "acme.com",
    "response body detail",
  ],
  "Basic credentials": [
    createExchange({ headers: [["authorization", `Basic ${base64("zebulon:north-wind")}`]] }),
    base64("zebulon:north-wind"),
    "request header authorization",
  ],
};

describe("secret identified by its name", () => {
  for (const [name, [exchange, secret, location]] of Object.entries(namedSecrets)) {
    it(`is redacted, or reported if redaction failed: ${name}`, async (t) => {
      const { text, found: findings } = await recordExchange(t, exchange);
      assert.deepEqual({ left: text.includes(secret), found: findings }, { left: false, found: [] }, text);
      assert.ok(scanExchange(exchange).includes(location), scanExchange(exchange).join());
    });
  }

  it("does not include error codes and messages about a field", async (t) => {
    const body = '{"code":"not_found","detail":"Invalid password: this field is required."}';
    const { text, found: findings } = await recordExchange(t, returns(404, "application/json", body));
    assert.deepEqual({ isSame: text.includes(body), found: findings }, { isSame: true, found: [] }, text);
  });
});

describe("personal data identified by its name", () => {
  const person = {
    dob: "1984-11-23",
    birth_date: "23.11.1984",
    num: 4915155512345,
    msisdn: 4915155512346,
    phone: "0171 2345678",
    salary: 84250.75,
    lat: 52.520008,
    longitude: -113.404954,
    first_name: "Zebulon",
    slug: "zebulon-quartz",
    zebulon_notes: 1,
  };

  it("is replaced consistently by values of the same format", async (t) => {
    const body = JSON.stringify([person, { dob: person.dob, num: person.num }]);
    const { text, found: findings } = await recordExchange(t, createRequest("application/json", body));
    const personalData = ["1984", "23.11", "491515", "2345678", "84250", "52.52", "113.4", "ebulon", "quartz"];
    assert.deepEqual(
      { left: personalData.filter((value) => text.includes(value)), found: findings },
      { left: [], found: [] },
      text,
    );
    const [firstCopy, again] = JSON.parse(text.split("\n").find((line) => line.startsWith("[{"))!);
    assert.deepEqual(again, { dob: firstCopy.dob, num: firstCopy.num });
    const form = text.slice(text.indexOf('[{"dob"'), text.indexOf(',"first_name"')).replace(/\d/g, "0");
    assert.equal(
      form,
      '[{"dob":"0000-00-00","birth_date":"00.00.0000","num":0000000000000,"msisdn":0000000000000,"phone":"+00000000000","salary":00000.00,"lat":00.000000,"longitude":-000.000000',
    );
    assert.ok(/^1955-/.test(firstCopy.dob) && Math.abs(firstCopy.longitude) < 180 && firstCopy.lat < 90, text);
  });

  it("is reported if it was not replaced", () => {
    const locations = scanExchange(createRequest("application/json", JSON.stringify(person)));
    const names = ["dob", "birth_date", "num", "msisdn", "phone", "salary", "lat", "longitude", "first_name"];
    assert.deepEqual(
      locations,
      names.map((name) => `request body ${name}`),
    );
  });

  it("includes a login in an error message", async (t) => {
    const { text } = await recordExchange(t, returns(400, "application/json", '{"detail":"Error for user zebulonq"}'));
    assert.ok(!text.includes("zebulonq"), text);
    assert.match(text, /Error for user qx[a-x]{7}"/);
  });
});

describe("secret that resembles a stand-in", () => {
  for (const [name, request, secret] of [
    ["a password", createRequest("application/json", '{"password":"safeguard2024north"}'), "safeguard2024north"],
    [
      "a token",
      createExchange({ headers: [["authorization", "Bearer safeKeeping4Tokens99"]] }),
      "safeKeeping4Tokens99",
    ],
    ["an id", createRequest("application/json", '{"note":"5afe1234-77aa-4d4e-9f3e-3c4d4d4e9f3e"}'), "5afe1234-77aa"],
    ["a card", createRequest("application/json", '{"note":"card:5500005555555559"}'), "5500005555555559"],
  ] as const)
    it(`is replaced: ${name}`, async (t) => {
      const { text } = await recordExchange(t, request);
      assert.ok(!text.includes(secret), text);
    });
});

describe("signed URL in a corpus", () => {
  it("is identical in the response that contains it and in its request", async (t) => {
    const target =
      "/_storage/0c4d4d4e-77aa-4d4e-9f3e-3c4d4d4e9f3e/9f2c1a7b3d5e8f60?X-Sig-SignedHeaders=host&X-Sig-Signature=5d5e";
    const body = json({ file_id: "0c4d4d4e-77aa-4d4e-9f3e-3c4d4d4e9f3e", url: `https://files.example.com${target}` });
    const [request, response] = createExchange({}, { body });
    const corpus = await recordAll(t, [
      [request, response],
      [{ ...request, target }, response],
    ]);
    const { url } = JSON.parse(corpus.exchanges[0]!.response.body.toString()) as { url: string };
    assert.equal(new URL(url).pathname + new URL(url).search, corpus.exchanges[1]!.request.target);
    assert.deepEqual(scanCorpus(corpus), []);
  });
});

describe("scan of a new recording", () => {
  it("accepts URL credentials and the boundary of a form", async (t) => {
    const url = '{"hook":"https://jane:hunter2@host.example/in","other":"https://jane@acme.com/"}';
    assert.deepEqual((await recordExchange(t, createRequest("application/json", url))).found, []);
    assert.deepEqual((await recordExchange(t, form("note", "hello"))).found, []);
  });

  it("accepts stand-ins within longer strings", async (t) => {
    const body =
      '{"note":"https://host.example/a/s-0Zelda9Quentin1Q","title":"svc-25zebulon586978quartz1b","id":"key=hunter2door"}';
    assert.deepEqual((await recordExchange(t, createRequest("application/json", body))).found, []);
  });

  it("accepts a name that resembles a token", async (t) => {
    const name = createRequest("application/json", '{"contract_name":"svc-verify-1a2b3c4d5e"}');
    assert.deepEqual((await recordExchange(t, name)).found, []);
  });
});
