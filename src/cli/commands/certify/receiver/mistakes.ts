import { specifiedOutageMs } from "../../../../api/webhook-retries.ts";
import { describeSignature, getDefaultScheme, getSignatureHeader } from "../../../../schemes/webhook-schemes.ts";
import { digest, encoding, encodingName } from "./delivery.ts";

export const receiverLanguages = ["node", "python", "go", "java", "csharp"] as const;
export type ReceiverLanguage = (typeof receiverLanguages)[number];

const languagePrograms: readonly (readonly [ReceiverLanguage, RegExp])[] = [
  ["node", /(^|[\s/&;])(node|npm|npx|pnpm|yarn|tsx|ts-node|bun|deno)(\s|$)|\.[cm]?[jt]s(\s|$)/],
  ["python", /(^|[\s/&;])(python[\d.]*|pipenv|poetry|uv|uvicorn|gunicorn|hypercorn|flask|fastapi)(\s|$)|\.py(\s|$)/],
  ["java", /(^|[\s/&;])(java|mvn|mvnw|gradle|gradlew)(\s|$)|\.(jar|java)(\s|$)/],
  ["csharp", /(^|[\s/&;])dotnet(\s|$)|\.(csproj|dll)(\s|$)/],
  ["go", /(^|[\s/&;])(go|air)(\s|$)|\.go(\s|$)/],
];

/** Guesses the language of a receiver from its command. Returns undefined if the command does not show it. */
export const guessLanguage = (command: string): ReceiverLanguage | undefined =>
  languagePrograms.find(([, pattern]) => pattern.test(command))?.[0];

interface Mistake {
  readonly title: string;
  readonly fix: string;
  readonly code?: Readonly<Partial<Record<ReceiverLanguage, string>>>;
}

const rawBodyExamples = {
  node: "app.post(path, express.raw({ type: () => true }), handler) // req.body is a Buffer",
  python: "body = request.get_data() # Flask; FastAPI: await request.body()",
  go: "body, err := io.ReadAll(r.Body)",
  java: "byte[] body = exchange.getRequestBody().readAllBytes();",
  csharp: "using var body = new MemoryStream(); await request.Body.CopyToAsync(body);",
};

const comparisonExamples = {
  node: "a.length === b.length && crypto.timingSafeEqual(a, b) // Buffers",
  python: "hmac.compare_digest(expected.encode(), given.encode())",
  go: "hmac.Equal([]byte(expected), []byte(given))",
  java: "MessageDigest.isEqual(expected.getBytes(UTF_8), given.getBytes(UTF_8))",
  csharp: "CryptographicOperations.FixedTimeEquals(expected, given)",
};

const scheme = getDefaultScheme();
const header = getSignatureHeader(scheme);
const shortName = digest.toUpperCase();
const digestName = shortName.replace("SHA", "SHA-");

const encodings = {
  hex: {
    node: '.digest("hex")',
    python: ".hexdigest()",
    go: "hex.EncodeToString(mac.Sum(nil))",
    java: "HexFormat.of().formatHex(mac.doFinal(body))",
    csharp: "Convert.ToHexString(hash).ToLowerInvariant()",
  },
  base64: {
    node: '.digest("base64")',
    python: "base64.b64encode(mac.digest()).decode()",
    go: "base64.StdEncoding.EncodeToString(mac.Sum(nil))",
    java: "Base64.getEncoder().encodeToString(mac.doFinal(body))",
    csharp: "Convert.ToBase64String(hash)",
  },
};

const headerExamples = {
  node: `req.headers["${header.toLowerCase()}"] // Node writes all names in lower case`,
  python: `request.headers.get("${header}") # not dict(request.headers)[…]`,
  go: `r.Header.Get("${header}") // not r.Header["…"]`,
  java: `exchange.getRequestHeaders().getFirst("${header}")`,
  csharp: `request.Headers["${header}"]`,
};

const mistakes = {
  "reserialized-json": {
    title: "The signature is computed over JSON that was parsed and written again",
    fix: "Compute the HMAC over the raw bytes of the body before parsing it.",
    code: rawBodyExamples,
  },
  "decoded-text": {
    title: "The signature is computed over decoded text",
    fix: "Read the body as bytes, and compute the HMAC over the bytes before decoding them.",
    code: { ...rawBodyExamples, node: "const body = Buffer.concat(chunks) // not text += chunk" },
  },
  "partial-body": {
    title: "Only the first part of the body is read",
    fix: "Read the body until it ends. One read returns only what has already arrived.",
    code: rawBodyExamples,
  },
  "key-not-decoded": {
    title: "The key is used without decoding it from base64",
    fix: "Decode the key from base64 before using it.",
    code: {
      node: 'const key = Buffer.from(process.env.SVC_WEBHOOK_HMAC_KEY, "base64")',
      python: 'key = base64.b64decode(os.environ["SVC_WEBHOOK_HMAC_KEY"])',
      go: 'key, err := base64.StdEncoding.DecodeString(os.Getenv("SVC_WEBHOOK_HMAC_KEY"))',
      java: 'byte[] key = Base64.getDecoder().decode(System.getenv("SVC_WEBHOOK_HMAC_KEY"));',
      csharp: 'var key = Convert.FromBase64String(Environment.GetEnvironmentVariable("SVC_WEBHOOK_HMAC_KEY")!);',
    },
  },
  "wrong-digest": {
    title: `The signature is not computed with ${digestName}`,
    fix: `Use HMAC with ${digestName}.`,
    code: {
      node: `crypto.createHmac("${digest}", key).update(body).digest("${encoding}")`,
      python: `hmac.new(key, body, hashlib.${digest})${encoding === "hex" ? ".hexdigest()" : ""}`,
      go: `mac := hmac.New(${digest}.New, key)`,
      java: `Mac mac = Mac.getInstance("Hmac${shortName}");`,
      csharp: `HMAC${shortName}.HashData(key, body)`,
    },
  },
  "wrong-encoding": {
    title: `The signature is not compared as ${encodingName}`,
    fix: `Write the HMAC as ${describeSignature(scheme.format).replace("hexadecimal", "hex")}, and compare it with the header.`,
    code: encodings[encoding],
  },
  "header-case": {
    title: "No signature is accepted",
    fix: `Check the key, read ${header} case-insensitively, and compute the HMAC with the raw body.`,
    code: headerExamples,
  },
  "header-name": {
    title: "The name of the signature's header is compared case-sensitively",
    fix: `Read ${header} case-insensitively.`,
    code: headerExamples,
  },
  "internal-error": {
    title: "Every event causes an internal error",
    fix: "Use --verbose to see the output of the receiver. The body must be raw bytes, whatever its Content-Type.",
    code: rawBodyExamples,
  },
  "signature-unchecked": {
    title: "The signature is not checked",
    fix: "Compare the header with the HMAC of the body, and respond with 401 if they differ.",
    code: comparisonExamples,
  },
  "rejection-unreported": {
    title: "A delivery with a wrong signature gets a 2xx status, although it is not processed",
    fix: "Respond with 401. After a 2xx the service never sends a genuine event again, for example while the key is wrong.",
  },
  "missing-accepted": {
    title: "A delivery without a signature is accepted",
    fix: "Respond with 401 if the header is missing or empty.",
  },
  "prefix-comparison": {
    title: "Only a part of the signature is compared",
    fix: "Compare the whole signature in constant time.",
    code: comparisonExamples,
  },
  "case-insensitive": {
    title: "The signature is compared case-insensitively",
    fix: `Compare the header unchanged. The service sends only ${encodingName}.`,
    code: comparisonExamples,
  },
  "signature-crash": {
    title: "A wrong signature causes an internal error",
    fix: "Compare bytes of the same length, and respond with 401 to anything else.",
    code: comparisonExamples,
  },
  "processed-unchecked": {
    title: "An event is processed before its signature is checked",
    fix: "Check the signature first.",
  },
  "body-limit": {
    title: "Long bodies are rejected",
    fix: "Raise the body size limit to at least 1 MB, including in any proxy in front of the receiver.",
    code: {
      node: 'express.raw({ type: () => true, limit: "5mb" }) // Fastify: bodyLimit',
      python: 'app.config["MAX_CONTENT_LENGTH"] = 5 * 1024 * 1024',
      go: "http.MaxBytesReader(w, r.Body, 5<<20)",
      java: "exchange.getRequestBody().readNBytes(5 * 1024 * 1024)",
      csharp: "[RequestSizeLimit(5_000_000)]",
    },
  },
  "content-length": {
    title: "A body without Content-Length is not read",
    fix: "Read the body until it ends, without relying on Content-Length.",
    code: rawBodyExamples,
  },
  "content-type": {
    title: "A charset in Content-Type is not accepted",
    fix: "Compare the media type only, without its parameters.",
  },
  "unknown-fields": {
    title: "An event with an unknown field is rejected",
    fix: "Ignore unknown fields.",
    code: {
      python: 'model_config = ConfigDict(extra="ignore")',
      go: "Do not call decoder.DisallowUnknownFields()",
      java: "mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false)",
    },
  },
  "unknown-activity": {
    title: "An unknown activity causes an error",
    fix: "Respond with 200 to activities that the receiver does not use.",
  },
  "slow-work": {
    title: "The receiver does its work before it responds",
    fix: "Store the event, respond with 200, and do the work afterwards.",
  },
  "duplicate-refused": {
    title: "A repeated event is rejected",
    fix: "Respond with 200 to an event that has already been received, and change nothing.",
  },
  "no-dedupe": {
    title: "A repeated event is processed again",
    fix: "Store a dedupe key with each event, such as the SHA-256 of its body, in the same transaction. Skip an event whose key is already stored.",
  },
  "dedupe-race": {
    title: "Two copies of an event that arrive together are both processed",
    fix: "Look up and store the dedupe key in one step, such as an INSERT with a unique key, in the same transaction as the work.",
  },
  "dedupe-too-wide": {
    title: "A second event of a contract may be taken for a repetition",
    fix: "Use the SHA-256 of the body as the dedupe key, not the ID of the contract. If --probe prints only contracts, let it print their events.",
  },
  "deduped-unverified": {
    title: "A forged copy of an event suppresses the event",
    fix: "Verify the signature before you look up or store the dedupe key.",
  },
  "lost-after-hang-up": {
    title: "An event is lost if its sender disconnects before the response",
    fix: "Store the event and its dedupe key in one transaction, whether or not the response can be sent.",
  },
  "rate-limited": {
    title: "Events are rejected because there are too many (status 429)",
    fix: "Queue events instead of rejecting them. Each rejection counts as a failure of the webhook.",
  },
  "order-refused": {
    title: "An event that is older than the last one is rejected",
    fix: "Respond with 200 to it. Retried events arrive after later ones.",
  },
  "stale-overwrite": {
    title: "An older event replaces newer data",
    fix: "Compare activity_data.timestamp with that of the stored event, or fetch the contract from the API.",
  },
  "late-rejected": {
    title: "An event that arrives late is rejected",
    fix: `Do not reject events by their age: the service retries for ${specifiedOutageMs / 60_000} minutes.`,
  },
  "answered-before-stored": {
    title: "The receiver responds before it has stored the event",
    fix: "Store the event first. After a 2xx the service never sends it again. If it is in a queue by then, let --probe print the queue.",
  },
  parallel: {
    title: "Events that arrive together are not all accepted",
    fix: "Queue events instead of rejecting them, and look for locks that are held during a request.",
  },
  "lost-update": {
    title: "Some of the accepted events that arrive together are not stored",
    fix: "Do not read data, change it and write it back without a lock or a transaction. Insert a row for each event, or change the data one event at a time.",
  },
  interrupted: {
    title: "A broken connection stops the receiver, or causes it to reject the event later",
    fix: "Catch the error that an incomplete body causes, and store none of its data.",
    code: { node: "try { for await (const chunk of req) chunks.push(chunk) } catch { return }" },
  },
  "receiver-ended": {
    title: "The receiver's process ends while it handles deliveries",
    fix: "Use --verbose to see the last output of the receiver, and catch the error.",
  },
  redirect: {
    title: "The receiver redirects",
    fix: "Respond at the address of the webhook itself. The service does not follow redirects.",
  },
  "wrong-address": {
    title: "The receiver has no POST handler at this address",
    fix: "Check the path of --to, and that the handler accepts POST.",
  },
  certificate: {
    title: "The certificate of the receiver is rejected",
    fix: "Use a certificate for the host of --to. If its authority is your own, set NODE_EXTRA_CA_CERTS to the file of the authority's certificate.",
  },
  "broken-response": {
    title: "The receiver sends no complete response",
    fix: "Send a status, a short body or none, and end the response within a few seconds.",
  },
  probe: {
    title: "The output of --probe does not show which events arrived",
    fix: "Let it print the stored events or their number, and nothing that changes by itself, such as the time. If the command already prints them, the receiver does not store the events that it accepts.",
  },
  unexplained: {
    title: "A genuine delivery is rejected",
    fix: "Compare the delivery that --keep writes with the log of the receiver.",
  },
} satisfies Readonly<Record<string, Mistake>>;

export type MistakeName = keyof typeof mistakes;
export const receiverMistakes: Readonly<Record<MistakeName, Mistake>> = mistakes;
