import * as z from "zod";
import { operation, passthrough, raw } from "../operation.ts";
import { router } from "../services.ts";
import { forwarding } from "./failures/index.ts";

export const forwardAnything = operation({
  id: "catch-all",
  service: router,
  summary: "Forward any other path to the cluster that owns the request's identifiers",
  description:
    "Applies to paths and methods that nothing else defines. Without a mapped identifier all clusters are called.",
  method: ["GET", "POST", "PUT", "PATCH", "DELETE"],
  path: "/{full_path}",
  auth: "none",
  request: { params: z.object({ full_path: z.string().describe("Path, with its slashes") }), body: raw() },
  responses: { 200: passthrough() },
  failures: forwarding,
  cli: { by: "api" },
  basis: "specified",
  examples: [{ title: "Call a path that no operation declares", params: { full_path: "api/v1/anything" } }],
});
