import assert from "node:assert/strict";
import { it } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import { svcVersion } from "../../src/base/version.ts";

it("the version that files name as their writer is that of the package", () =>
  assert.equal(svcVersion, manifest.version));
