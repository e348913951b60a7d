import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chownSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { addCleanup } from "../../../support/cleanup.ts";
import { prepareEmulatorProcess } from "../../../support/emulator-start.ts";
import { PostgresServer, postgresSkipReason } from "../../../support/postgres/server.ts";

/** An address of this machine that no other server uses. */
const address = "127.0.0.77";

describe("sslmode=verify-full with an IP address", { skip: postgresSkipReason }, () => {
  for (const [name, outcome] of [
    [`IP:${address}`, /^up$/],
    [
      "DNS:localhost",
      /^StateAccessError: .* cannot be used: the certificate of the server has another name\. Nothing was written\. Connect/,
    ],
  ] as const) {
    it(`compares the address with the certificate of ${name}`, async (t) => {
      const server = new PostgresServer();
      addCleanup(t, () => server.remove());
      const [key, certificate] = [join(server.folder, "server.key"), join(server.folder, "server.crt")];
      const subject = ["-subj", "/CN=PostgreSQL", "-addext", `subjectAltName=${name}`];
      const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
      execFileSync("openssl", ["req", "-x509", ...curve, "-keyout", key, "-out", certificate, ...subject], {
        stdio: "pipe",
      });
      const { uid, gid } = statSync(server.folder);
      for (const path of [key, certificate]) chownSync(path, uid, gid);
      const files = [`ssl_key_file=${key}`, `ssl_cert_file=${certificate}`];
      await server.start(["ssl=on", ...files, `listen_addresses=${address}`]);

      const store = `postgres://svc@${address}/postgres?sslmode=verify-full`;
      const start = async (trusted: string) => {
        const within = ["env", `NODE_EXTRA_CA_CERTS=${trusted}`];
        return (await prepareEmulatorProcess(t, { port: 0, store }, { within })).start();
      };
      assert.match(
        await start(""),
        /cannot be used: the certificate of the server is not trusted\. Nothing was written\./,
      );
      assert.match(await start(certificate), outcome);
    });
  }
});
