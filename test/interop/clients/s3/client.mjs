// Uploads to signed URLs by the AWS SDK; prints what it sent and the content that is stored, or the error's code.
import { createRequire } from "node:module";
import { Readable } from "node:stream";

const { S3Client, PutObjectCommand } = createRequire(`${process.argv[2]}/`)("@aws-sdk/client-s3");
const api = `${process.env.CONTRACTS_URL}/api/v2.1/public/workspace/files`;
const key = { "client-id": process.env.CLIENT_ID, "client-secret": process.env.CLIENT_SECRET };
const headers = { ...key, "content-type": "application/json" };

async function stored(options) {
  const body = JSON.stringify({ files: [{ filename: "a.txt", content_type: "text/plain" }] });
  const [file] = (await (await fetch(`${api}/uploads/`, { method: "POST", headers, body })).json()).files;
  const url = new URL(file.upload_url);
  const client = new S3Client({
    endpoint: url.origin,
    region: "eu-1",
    maxAttempts: 1,
    credentials: { accessKeyId: "none", secretAccessKey: "none" },
    signer: { sign: async (request) => request },
  });
  let sent;
  const useSignedUrl = (next) => (call) => {
    const query = Object.fromEntries(url.searchParams);
    Object.assign(call.request, { path: url.pathname, query, hostname: url.hostname, port: Number(url.port) });
    sent = call.request.headers["content-encoding"] ?? "plain";
    return next(call);
  };
  client.middlewareStack.add(useSignedUrl, { step: "finalizeRequest", priority: "low" });
  const put = { Bucket: "b", Key: "k", ContentType: "text/plain", Body: "agreement", ...options };
  try {
    await client.send(new PutObjectCommand(put));
  } catch (error) {
    return [sent, error.name];
  }
  const { signed_url } = await (await fetch(`${api}/${file.file_id}/`, { headers: key })).json();
  return [sent, await (await fetch(signed_url)).text()];
}

const stream = () => ({ Body: Readable.from(["agree", "ment"].map(Buffer.from)), ContentLength: 9 });
const nothing = (length) => Buffer.alloc(length).toString("base64");
const outcomes = {
  "as it sends by itself": await stored({}),
  "a stream": await stored(stream()),
  "a stream with CRC-32C": await stored({ ...stream(), ChecksumAlgorithm: "CRC32C" }),
  "another CRC-32": await stored({ ChecksumCRC32: nothing(4) }),
};
process.stdout.write(JSON.stringify(outcomes));
