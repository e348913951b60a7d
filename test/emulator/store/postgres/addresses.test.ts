import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createServer, type ListenOptions } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Database } from "../../../../emulator/store/postgres/database.ts";
import { formatPostgresUrl, parsePostgresUrl } from "../../../../src/base/urls.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

/** Starts a server that closes every connection. `came` resolves after the first connection. */
async function startServer(t: TestContext, at: ListenOptions) {
  const server = createServer((socket) => socket.destroy());
  const came = once(server, "connection");
  server.listen(at);
  await once(server, "listening");
  addCleanup(t, () => server.close());
  const address = server.address();
  return { port: typeof address === "object" ? address!.port : 0, came };
}

/** Reports whether a client of this URL reaches the server. */
async function reachesServer(url: string, came: Promise<unknown>): Promise<string> {
  const database = new Database(url, "svc");
  const outcome = database.pool`select 1`.then(
    () => "answered",
    ({ code }: NodeJS.ErrnoException) => String(code),
  );
  const found = await Promise.race([came.then(() => "there"), outcome]);
  await database.close();
  return found;
}

describe("URL of a PostgreSQL store", () => {
  const addresses: readonly [url: string, host: string][] = [
    ["postgres://svc@[::1]:PORT/db", "::1"],
    ["postgres://svc@[0:0::1]:PORT/db", "::1"],
    ["postgres://svc@/db?host=::1&port=PORT", "::1"],
    ["postgres://svc@%31%32%37.0.0.1:PORT/db", "127.0.0.1"],
    ["postgres://svc@elsewhere.example:9/db?host=127.0.0.1&port=PORT", "127.0.0.1"],
  ];
  for (const [url, host] of addresses) {
    it(`resolves ${url} to ${host}`, async (t) => {
      const { port, came } = await startServer(t, { host, port: 0 });
      const serverUrl = url.replace("PORT", String(port));
      assert.equal(await reachesServer(serverUrl, came), "there");
      const displayUrl = formatPostgresUrl(parsePostgresUrl(serverUrl));
      assert.deepEqual(parsePostgresUrl(displayUrl), parsePostgresUrl(serverUrl));
    });
  }

  for (const write of [encodeURIComponent, (folder: string) => `/db?host=${encodeURIComponent(folder)}`]) {
    it(`resolves to the socket in a folder: ${write("/a folder")}`, async (t) => {
      const folder = join(await createTemporaryFolder(t), "50% & more");
      await mkdir(folder);
      const { came } = await startServer(t, { path: join(folder, ".s.PGSQL.5432") });
      const folderName = write(folder);
      const url = `postgres://svc@${folderName.startsWith("/") ? folderName : `${folderName}/db`}`;
      assert.equal(await reachesServer(url, came), "there");
      assert.deepEqual(parsePostgresUrl(formatPostgresUrl(parsePostgresUrl(url))), parsePostgresUrl(url));
    });
  }

  it("can omit the host and contain percent-encoded parts", () => {
    const nothing = { user: undefined, password: undefined, database: undefined, sslMode: undefined };
    assert.deepEqual(parsePostgresUrl("postgres://:6432/a%2Fb"), {
      ...{ ...nothing, host: "localhost", port: 6432, database: "a/b" },
    });
    assert.deepEqual(parsePostgresUrl("postgres://a%40b:p%3Aw%2F@/%25"), {
      ...{ ...nothing, host: "localhost", port: 5432, user: "a@b", password: "p:w/", database: "%" },
    });
  });

  it("names exactly one host", () => {
    const getRejection = (url: string) => {
      try {
        return JSON.stringify(parsePostgresUrl(url));
      } catch (error) {
        return (error as Error).message;
      }
    };
    const oneHost = "must name exactly one host";
    assert.deepEqual(
      ["postgres://a,b/db", "postgres://a:1,b:2/db", "postgres:///db?host=a,b", "postgres:///db?host=a&host=b"].map(
        getRejection,
      ),
      [oneHost, oneHost, oneHost, oneHost],
    );
  });
});
