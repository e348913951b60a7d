import assert from "node:assert/strict";
import { it } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import { svcVersion } from "../../src/base/version.ts";

it("files record the version of the package as their writer", () => assert.equal(svcVersion, manifest.version));
