// A device-flow client (RFC 8628) by the book, or with one mistake, which its argument names.
// biome-ignore-all lint/suspicious/noConsole: a program that prints what it has to say
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const [mistake = "none"] = process.argv.slice(2);
const has = (name) => mistake === name;
const client_id = process.env.SVC_OAUTH_CLIENT_ID;
const issuer = process.env.SVC_ROUTER_URL;

async function post(url, fields) {
  const form = new URLSearchParams(fields);
  if (has("query")) return fetch(`${url}?${form}`, { method: "POST" });
  return fetch(url, { method: "POST", body: form });
}

const { device_authorization_endpoint, token_endpoint } = await (
  await fetch(`${issuer}/.well-known/openid-configuration`)
).json();
const begun = await post(device_authorization_endpoint, { client_id });
if (!begun.ok) {
  console.error(`No code: ${begun.status}`);
  process.exit(1);
}
const { device_code, user_code, verification_uri, interval } = await begun.json();
console.log(`Open ${has("no-address") ? "the page" : verification_uri} and enter ${has("no-code") ? "it" : user_code}`);

const grant_type = has("grant-type") ? "device_code" : "urn:ietf:params:oauth:grant-type:device_code";
let seconds = has("hurry") ? 0.1 : interval;
let next = seconds;
let slowDowns = 0;
for (;;) {
  await sleep(next * 1_000);
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
    console.log("Signed in");
    process.exit(0);
  }
  if (error === "slow_down") {
    slowDowns += 1;
    const adds = !has("ignores-slow-down") && !(has("slows-down-once") && slowDowns > 1);
    if (adds && has("forgets-slow-down")) next = seconds + 5;
    else if (adds) next = seconds += 5;
  } else if (error === "authorization_pending") {
  } else if (!has("goes-on")) {
    console.error(`Not signed in: ${error}`);
    process.exit(has("exit-code") ? 0 : 1);
  }
}

async function poll() {
  const sent = has("arguments") ? postByProgram() : post(token_endpoint, { grant_type, device_code, client_id });
  let response;
  try {
    response = await sent;
  } catch (error) {
    if (has("no-retry")) process.exit(1);
    throw error;
  }
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (error) {
    if (has("no-html")) process.exit(1);
    throw error;
  }
}

/** Polls by another program, with the code among its arguments. */
async function postByProgram() {
  const script = `
    const [url, device_code, client_id, grant_type] = process.argv.slice(1);
    const body = new URLSearchParams({ device_code, client_id, grant_type });
    fetch(url, { method: "POST", body }).then((r) => r.text()).then((text) => console.log(text), () => process.exit(1));
  `;
  const argv = ["-e", script, token_endpoint, device_code, client_id, grant_type];
  const { stdout } = await promisify(execFile)(process.execPath, argv);
  return { text: async () => stdout };
}
