import * as z from "zod";
import { operation, passthrough, raw } from "../operation.ts";
import { router } from "../services.ts";
import { forwarding } from "./failures/index.ts";

export const forwardAnything = operation({
  id: "catch-all",
  service: router,
  summary: "Forward any other path to the cluster of the request",
  description:
    "Applies to paths and methods that no operation declares. Without a mapped identifier, the request goes to all clusters.",
  method: ["GET", "POST", "PUT", "PATCH", "DELETE"],
  path: "/{full_path}",
  auth: "none",
  request: { params: z.object({ full_path: z.string().describe("Path, with its slashes") }), body: raw() },
  responses: { 200: passthrough() },
  failures: forwarding,
  cli: { by: "api" },
  basis: "specified",
  examples: [{ title: "Request an undeclared path", params: { full_path: "api/v1/anything" } }],
});
