import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { readProxies } from "../../../src/cli/connection/proxies.ts";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startForwardProxy } from "../../support/cli/forward-proxy.ts";
import { type RunOptions, type RunResult, runCli } from "../../support/cli/run-cli.ts";
import { startSvcProcess } from "../../support/cli/start-svc.ts";
import { startTlsService } from "../../support/cli/tls-service.ts";
import { startReceiver } from "../../support/receiver.ts";

const password = "hunter2%secret";
const encodedPassword = encodeURIComponent(password);

/** A service with a host name that only the proxy can resolve. */
async function startService(t: TestContext) {
  const real = await startReceiver(t);
  real.respond((_, response) => response.end('{"database":true}'));
  return { url: real.url.replace("127.0.0.1", "service.example"), received: real.received };
}

/** A server that accepts connections and leaves them to `onConnection`. */
async function startSocketServer(t: TestContext, onConnection: (socket: Socket) => void): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("error", () => {}));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const runHealth = (url: string, env: RunOptions["env"], ...extraArgs: string[]): Promise<RunResult> =>
  runCli(["router", "health", "--base-url", url, "--retries", "0", "--verbose", ...extraArgs], { env });

const getErrorLine = ({ stderr }: RunResult): string =>
  stderr.split("\n").find((line) => line.startsWith("error:")) ?? stderr;

describe("proxy from the environment", () => {
  it("receives absolute URLs of http services and is the only recipient of its credentials", async (t) => {
    const [proxy, { url, received }] = [await startForwardProxy(t, password), await startService(t)];
    for (const value of [
      `http://ann:${encodedPassword}@127.0.0.1:${proxy.port}`,
      `ann:${encodedPassword}@127.0.0.1:${proxy.port}`,
    ]) {
      for (const name of ["HTTP_PROXY", "http_proxy"]) {
        const { exit, stdout, stderr } = await runHealth(url, { [name]: value }, "--json");
        assert.deepEqual([exit, JSON.parse(stdout)], [0, { database: true }]);
        assert.doesNotMatch(`${stdout}${stderr}`, /hunter2|ann/);
      }
    }
    assert.deepEqual(new Set(proxy.targets), new Set([`GET ${url}/`]));
    const receivedHeaders = received.map(({ headers }) => [headers.host, headers["proxy-authorization"]]);
    assert.deepEqual(receivedHeaders, Array(4).fill([new URL(url).host, undefined]));
  });

  it("opens tunnels to https services with verified certificates, and does not retry after a rejected one", async (t) => {
    const [proxy, url] = [await startForwardProxy(t, password), await startTlsService(t)];
    const env = { HTTPS_PROXY: `http://ann:${encodedPassword}@127.0.0.1:${proxy.port}` };
    const result = await runCli(["router", "health", "--base-url", url, "--retries", "2"], { env });
    assert.deepEqual(
      [result.exit, getErrorLine(result), proxy.targets],
      [
        1,
        `error: Failed to reach ${url} through the proxy ${proxy.url}: its certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT).`,
        [`CONNECT ${new URL(url).host}`],
      ],
    );
  });

  it("is not needed to learn that a trusted certificate belongs to another host", async (t) => {
    const url = (await startTlsService(t)).replace("service.example", "127.0.0.1");
    const env = { NODE_EXTRA_CA_CERTS: join(import.meta.dirname, "../../../fixtures/tls/service.cert.pem") };
    const run = await startSvcProcess(t, ["router", "health", "--base-url", url], {
      cwd: await createTestFolder(t),
      env,
    });
    await run.saw("address.\n");
    assert.equal(
      run.stderr(),
      `error: Failed to reach ${url}: its certificate is for another host (ERR_TLS_CERT_ALTNAME_INVALID).\n` +
        "  Use a host of the certificate in the address.\n",
    );
  });

  it("exits with 4 if the proxy rejects or requires credentials, without printing them", async (t) => {
    const [proxy, { url, received }] = [await startForwardProxy(t, password), await startService(t)];
    const hint = "Add user and password to the proxy variable: http://user:password@proxy.example:3128.";
    for (const target of [url, url.replace("http:", "https:")]) {
      for (const [user, does] of [
        ["", "requires credentials"],
        ["ann:s3cret-wrong@", "rejected the credentials"],
      ]) {
        const value = `http://${user}127.0.0.1:${proxy.port}`;
        const result = await runHealth(target, { HTTP_PROXY: value, HTTPS_PROXY: value });
        assert.deepEqual(
          [result.exit, getErrorLine(result)],
          [4, `error: The proxy ${proxy.url} ${does} (407).`],
          `${target} ${user}`,
        );
        assert.ok(result.stderr.includes(hint));
        assert.doesNotMatch(result.stderr, /s3cret/);
      }
    }
    assert.deepEqual(received, []);
  });

  it("reports a proxy that is unreachable, hangs up, rejects the request or is silent", async (t) => {
    const hangsUp = await startSocketServer(t, (socket) => socket.destroy());
    const hangs = await startSocketServer(t, () => {});
    const refuses = (status: number) =>
      startSocketServer(t, (socket) => socket.once("data", () => socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)));
    const [forbids, fails] = [await refuses(403), await refuses(502)];
    const [plain, safe] = ["http://service.example", "https://service.example"];
    const cases: readonly [url: string, proxy: string, exit: number, said: string][] = [
      [plain, "127.0.0.1:1", 75, "Failed to reach the proxy http://127.0.0.1:1: connection refused (ECONNREFUSED)."],
      [safe, "127.0.0.1:1", 75, "Failed to reach the proxy http://127.0.0.1:1: connection refused (ECONNREFUSED)."],
      [plain, hangsUp, 75, `Request to ${plain} through the proxy http://${hangsUp} failed: the connection was closed`],
      [safe, hangsUp, 75, `Failed to reach the proxy http://${hangsUp}: the connection was closed`],
      [plain, hangs, 75, `Request to ${plain} through the proxy http://${hangs} failed: no response`],
      [safe, hangs, 75, `Failed to reach the proxy http://${hangs}: no response`],
      [safe, forbids, 1, `The proxy http://${forbids} does not connect to ${safe} (403).`],
      [safe, fails, 75, `The proxy http://${fails} does not connect to ${safe} (502).`],
    ];
    for (const [url, proxy, exit, message] of cases) {
      const result = await runHealth(url, { HTTP_PROXY: proxy, HTTPS_PROXY: proxy }, "--timeout", "700ms");
      assert.equal(result.exit, exit, `${url} ${proxy}: ${result.stderr}`);
      assert.ok(getErrorLine(result).startsWith(`error: ${message}`), getErrorLine(result));
    }
  });

  it("exits with 2 for an invalid address without printing it", async () => {
    for (const value of [
      "http://",
      "http://ann:s3cret@",
      "socks5://ann:s3cret@127.0.0.1:1",
      "a b",
      "http://a%:s3cret@h",
    ]) {
      const result = await runHealth("http://service.example", { HTTP_PROXY: value });
      assert.deepEqual(
        [result.exit, getErrorLine(result)],
        [2, "error: HTTP_PROXY is not the address of an HTTP proxy"],
        value,
      );
      const list = await runCli("config list --json", { env: { HTTP_PROXY: value } });
      assert.doesNotMatch(`${result.stderr}${list.stdout}`, /s3cret/);
    }
  });

  it("receives no requests to this machine", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const hook = await startReceiver(t);
    const proxy = await startForwardProxy(t);
    const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };
    const [router, control] = [emulator.routerUrl, emulator.routerUrl.replace("127.0.0.1", "localhost")];
    const results = [
      await svc("router health", { env }),
      await svc("contracts list", { env }),
      await svc("emulator status", { env: { ...env, SVC_EMULATOR_URL: control } }),
      await svc("doctor", { env }),
      await svc(["webhooks", "replay", "-", "--to", hook.url], { env, stdin: "{}" }),
      await runHealth(router, env),
      await runHealth(control, { ...env, NO_PROXY: "elsewhere.example" }),
    ];
    assert.deepEqual([results.map(({ exit }) => exit), proxy.targets], [results.map(() => 0), []]);
    assert.equal(hook.received.length, 1);
  });

  it("forwards deliveries to remote receivers", async (t) => {
    const [proxy, { url, received }] = [await startForwardProxy(t), await startService(t)];
    const { svc } = await startCliEmulator(t);
    const { exit } = await svc(["webhooks", "replay", "-", "--to", url], {
      env: { HTTP_PROXY: proxy.url },
      stdin: "{}",
    });
    assert.deepEqual([exit, received.length, proxy.targets], [0, 1, [`POST ${url}/`]]);
  });

  it("is used and reported by doctor, including failures", async (t) => {
    const [proxy, { url }] = [await startForwardProxy(t, password), await startService(t)];
    const rowOf = ({ stdout }: RunResult) => {
      const { status, detail } = JSON.parse(stdout).find(({ check }: { check: string }) => check === "proxy");
      return { status, detail };
    };
    const runDoctor = (value: string, base = url) =>
      runCli(["doctor", "--json", "--base-url", base], { env: { HTTP_PROXY: value } });
    const well = await runDoctor(`http://ann:${encodedPassword}@127.0.0.1:${proxy.port}`);
    assert.deepEqual(
      [rowOf(well), well.exit, well.stdout.includes("hunter2")],
      [{ status: "ok", detail: `${url} responds through ${proxy.url} (HTTP_PROXY)` }, 0, false],
    );
    const result = await runDoctor(proxy.url);
    assert.deepEqual(
      [rowOf(result), result.exit],
      [{ status: "failed", detail: `The proxy ${proxy.url} requires credentials (407).` }, 4],
    );
    const none = await runDoctor("socks5://ann:s3cret@127.0.0.1:1");
    assert.deepEqual(
      [rowOf(none), none.exit, none.stdout.includes("s3cret")],
      [{ status: "failed", detail: "HTTP_PROXY is not the address of an HTTP proxy" }, 2, false],
    );
    const local = await runDoctor(proxy.url, "http://127.0.0.1:1");
    assert.deepEqual(rowOf(local), {
      status: "ok",
      detail: `HTTP_PROXY ${proxy.url}, not used for http://127.0.0.1:1`,
    });
  });
});

describe("NO_PROXY", () => {
  const isExempt = (list: string, url: string, name = "NO_PROXY") =>
    readProxies({ HTTP_PROXY: "http://p:1", HTTPS_PROXY: "p:1", [name]: list })(new URL(url)) === undefined;

  it("accepts hosts, domains, ports, addresses, networks and *", () => {
    const out: readonly [list: string, url: string][] = [
      ["*", "https://service.example"],
      ["a.example, *", "http://service.example"],
      ["service.example", "http://service.example"],
      ["SERVICE.example", "http://service.EXAMPLE./"],
      ["example", "http://service.example"],
      [".example", "https://service.example"],
      [".service.example", "https://service.example"],
      ["*.example", "https://service.example"],
      ["a.example b.example,service.example", "https://service.example"],
      ["service.example:8080", "http://service.example:8080"],
      ["service.example:443", "https://service.example"],
      [".example:80", "http://service.example"],
      ["10.1.2.3", "http://10.1.2.3"],
      ["10.0.0.0/8", "http://10.1.2.3:99"],
      ["[fd00::1]:8080", "http://[fd00::1]:8080"],
      ["fd00::1", "http://[fd00::1]"],
      ["fd00::/8", "http://[fd00::2]"],
    ];
    const into: readonly [list: string, url: string][] = [
      ["", "http://service.example"],
      ["ervice.example", "http://service.example"],
      ["service.example.org", "http://service.example"],
      ["service.example:8080", "http://service.example"],
      ["service.example:80", "https://service.example"],
      ["10.0.0.0/8", "http://11.1.2.3"],
      ["10.0.0.0/99,/8,:80,[", "http://10.1.2.3"],
      ["[fd00::1]:8080", "http://[fd00::1]"],
    ];
    assert.deepEqual(
      out.filter(([list, url]) => !isExempt(list, url)),
      [],
    );
    assert.deepEqual(
      into.filter(([list, url]) => isExempt(list, url)),
      [],
    );
    assert.equal(isExempt("*", "http://service.example", "no_proxy"), true);
  });

  it("includes this machine by default", () => {
    const hosts = [
      "localhost",
      "a.localhost",
      "127.0.0.1",
      "127.8.8.8",
      "[::1]",
      "0.0.0.0",
      "[::ffff:127.0.0.1]",
      "2130706433",
    ];
    assert.deepEqual(
      hosts.filter((host) => !isExempt("elsewhere.example", `https://${host}:8443/`)),
      [],
    );
  });

  it("applies to variables of either scheme", () => {
    const proxyFor = readProxies({ HTTP_PROXY: "p:1", https_proxy: "https://q:2", HTTPS_PROXY: "http://r:3" });
    const origin = (url: string) => proxyFor(new URL(url))?.origin;
    assert.deepEqual([origin("http://s.example"), origin("https://s.example")], ["http://p:1", "https://q:2"]);
    assert.equal(readProxies({ HTTP_PROXY: "p:1" })(new URL("https://s.example")), undefined);
  });
});
