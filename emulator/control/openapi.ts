import * as declarations from "../../src/api/registry.ts";
import { buildOpenApi, type DocumentedService } from "../../src/derive/openapi.ts";
import type { Handlers } from "../http/handler.ts";
import type { ControlWorld } from "./home.ts";

export const openApiHandlers: Handlers<"emulator.openapi", ControlWorld, unknown> = {
  "emulator.openapi": ({ params }) => ({
    openapi: "3.1.0",
    ...buildOpenApi(params.document.replace(/\.json$/, "") as DocumentedService, declarations),
  }),
};
