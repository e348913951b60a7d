import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, watch } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { request } from "undici";
import { canRun } from "../../support/foreign/program.ts";
import { startSignInEmulator } from "../../support/foreign/sign-in.ts";

const modules = "/usr/lib/apache2/modules";
const isThere = (await canRun("apache2", "-v")) && (await canRun("test", "-r", join(modules, "mod_auth_openidc.so")));
const skip = isThere ? false : "needs Debian's apache2 and libapache2-mod-auth-openidc";

/** A free port, because a server with a configured port cannot report an automatic one. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Apache in front of one page for signed-in users, as in the module's first example. */
async function startApache(t: TestContext, issuer: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-apache-"));
  await chmod(folder, 0o755);
  await writeFile(join(folder, "page.txt"), "for members\n");
  const log = join(folder, "log");
  await writeFile(log, "");
  const port = await findFreePort();
  const siteUrl = `http://127.0.0.1:${port}`;
  const loaded = ["mpm_event", "authn_core", "authz_core", "authz_user", "headers", "auth_openidc"];
  const configuration = [
    `ServerRoot ${folder}`,
    `DocumentRoot ${folder}`,
    `PidFile ${folder}/pid`,
    `ErrorLog ${log}`,
    `Listen 127.0.0.1:${port}`,
    `ServerName 127.0.0.1:${port}`,
    ...(process.getuid?.() === 0 ? ["User www-data", "Group www-data"] : []),
    ...loaded.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`),
    `OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration`,
    "OIDCClientID portal",
    'OIDCClientSecret "s3cret:+%"',
    `OIDCRedirectURI ${siteUrl}/callback`,
    "OIDCCryptoPassphrase of-the-app",
    'OIDCScope "openid profile email"',
    "<Location />",
    "  AuthType openid-connect",
    "  Require valid-user",
    '  Header set x-user "expr=%{REMOTE_USER}"',
    '  Header set x-email "%{OIDC_CLAIM_email}e"',
    "</Location>",
  ];
  await writeFile(join(folder, "apache.conf"), `${configuration.join("\n")}\n`);
  const child = spawn("apache2", ["-D", "FOREGROUND", "-f", join(folder, "apache.conf")], { stdio: "ignore" });
  const closed = once(child, "close");
  t.after(async () => {
    child.kill("SIGTERM");
    await closed;
    await rm(folder, { recursive: true, force: true });
  });
  await new Promise<void>((resolve, down) => {
    const look = () => {
      if (!readFileSync(log, "utf8").includes("resuming normal operations")) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(log, look);
    look();
    void closed.then(() => down(new Error(`Apache ended: ${readFileSync(log, "utf8")}`)));
  });
  return siteUrl;
}

it("Debian's mod_auth_openidc signs a user in before serving an Apache page", { skip }, async (t) => {
  const emulator = await startSignInEmulator(t);
  const siteUrl = await startApache(t, emulator.routerUrl);
  const cookies = new Map<string, string>();
  // The module treats the User-Agent of Node's fetch as a script, and does not redirect scripts to sign in.
  const requestPage = async (url: string | URL) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const { statusCode: status, headers, body } = await request(url, { headers: { cookie, accept: "text/html" } });
    for (const line of [headers["set-cookie"] ?? []].flat()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return { status, headers, text: await body.text() };
  };
  const loginRedirect = await requestPage(`${siteUrl}/page.txt`);
  assert.equal(loginRedirect.status, 302, loginRedirect.text);
  const link = new URL(String(loginRedirect.headers.location));
  assert.deepEqual([link.origin, link.searchParams.has("code_challenge")], [emulator.routerUrl, false]);
  link.searchParams.set("svc_user", "ada@northwind.example");
  const back = await requestPage(link);
  const signedIn = await requestPage(String(back.headers.location));
  assert.equal(signedIn.headers.location, `${siteUrl}/page.txt`, signedIn.text);
  const { status, text, headers } = await requestPage(`${siteUrl}/page.txt`);
  assert.deepEqual(
    [status, text, headers["x-user"], headers["x-email"]],
    [200, "for members\n", `11@${emulator.routerUrl}`, "ada@northwind.example"],
  );
});
