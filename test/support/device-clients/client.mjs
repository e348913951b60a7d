// A device-flow client (RFC 8628) by the book, or with one mistake, which its argument names.
// biome-ignore-all lint/suspicious/noConsole: a program that prints what it has to say
import { execFile } from "node:child_process";
import { request } from "node:http";
import { Readable } from "node:stream";
import { json, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const [mistake = "none"] = process.argv.slice(2);
const has = (name) => mistake === name;
const client_id = process.env.SVC_OAUTH_CLIENT_ID;
const issuer = process.env.SVC_ROUTER_URL;

/** Sends a request and resolves at the head of the response. A process with `fetch` would need twice the CPU time. */
const send = (url, options, body) =>
  new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, ...options }, resolve);
    sent.on("error", reject);
    sent.end(body);
  });

function post(url, fields) {
  const form = String(new URLSearchParams(fields));
  if (has("query")) return send(`${url}?${form}`, { method: "POST" });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return send(url, { method: "POST", headers }, form);
}

const { device_authorization_endpoint, token_endpoint } = await json(
  await send(`${issuer}/.well-known/openid-configuration`),
);
const begun = await post(device_authorization_endpoint, { client_id });
if (begun.statusCode !== 200) {
  console.error(`No code: ${begun.statusCode}`);
  process.exit(1);
}
const { device_code, user_code, verification_uri, interval } = await json(begun);
console.log(`Open ${has("no-address") ? "the page" : verification_uri} and enter ${has("no-code") ? "it" : user_code}`);

const grant_type = has("grant-type") ? "device_code" : "urn:ietf:params:oauth:grant-type:device_code";
let seconds = has("hurry") ? 0.1 : has("own-interval") ? 1 : has("five-seconds") ? 5 : has("blocks") ? 5.2 : interval;
let next = seconds;
let slowDowns = 0;
let polls = 0;
if (has("never-polls")) process.exit(0);
for (;;) {
  await sleep(next * 1_000);
  polls += 1;
  if (has("blocks") && polls === 1) {
    process.kill(process.ppid, "SIGWINCH");
    await sleep(200);
  }
  next = seconds;
  const answer = await poll().catch((error) => ({ broken: String(error) }));
  const error = answer.broken === undefined ? answer.error : undefined;
  if (answer.broken !== undefined) {
    if (has("hammering")) next = 0;
    if (has("stalls")) next = 1_000;
    continue;
  }
  if (error === undefined) {
    if (has("rejects-tokens")) process.exit(3);
    if (has("token-argument"))
      await promisify(execFile)(process.execPath, ["-e", "setTimeout(() => {}, 500)", answer.refresh_token]);
    console.log("Signed in");
    process.exit(0);
  }
  if (error === "slow_down") {
    if (has("gives-up")) process.exit(1);
    slowDowns += 1;
    const adds = !has("ignores-slow-down") && !(has("slows-down-once") && slowDowns > 1);
    if (adds && has("forgets-slow-down")) next = seconds + 5;
    else if (adds) next = seconds += 5;
  } else if (error === "authorization_pending") {
    if (has("polls-once")) process.exit(0);
  } else if (!has("goes-on")) {
    console.error(`Not signed in: ${error}`);
    process.exit(has("exit-code") ? 0 : 1);
  }
}

async function poll() {
  const sent = has("arguments")
    ? postByProgram()
    : post(token_endpoint, { grant_type, device_code, ...(!has("no-client") && { client_id }) });
  let response;
  try {
    response = await sent;
  } catch (error) {
    if (has("no-retry")) process.exit(1);
    throw error;
  }
  const received = await text(response);
  try {
    return JSON.parse(received);
  } catch (error) {
    if (has("no-html")) process.exit(1);
    throw error;
  }
}

/** Polls by another program, with the code among its arguments. */
async function postByProgram() {
  const script = `
    const [url, device_code, client_id, grant_type] = process.argv.slice(1);
    const body = String(new URLSearchParams({ device_code, client_id, grant_type }));
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    require("node:http").request(url, { method: "POST", headers }, (r) => r.pipe(process.stdout))
      .on("error", () => process.exit(1)).end(body);
  `;
  const argv = ["-e", script, token_endpoint, device_code, client_id, grant_type];
  const { stdout } = await promisify(execFile)(process.execPath, argv);
  return Readable.from([stdout]);
}
